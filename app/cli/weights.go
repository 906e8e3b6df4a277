package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/app/remote/weights"
	"github.com/kindred-ml/kindred/run"
)

// Weights are the flags that say where pretrained networks are, as typed.
type Weights struct {
	Dir     string
	Offline bool
}

// Add adds them to the flags of a command.
func (w *Weights) Add(fs *pflag.FlagSet) {
	AddWeightsDir(fs, &w.Dir)
	fs.BoolVar(&w.Offline, "offline", false, "do not fetch pretrained networks: use those in the weights folder")
}

// Find is run.Options.Weights: it finds pretrained networks by name, or the one that
// photographs start from if none is named. One that is not in the folder is fetched by
// get, which is given the folder too.
func (w Weights) Find(get func(ctx context.Context, home, name string) error) func(context.Context, string) (
	run.Start, error) {
	return func(ctx context.Context, name string) (run.Start, error) {
		home, err := weights.Home(w.Dir)
		if err != nil {
			return run.Start{}, err
		}
		e, here := weights.Start(home)
		if name != "" {
			if e, err = weights.Find(name); err != nil {
				return run.Start{}, err
			}
			here = e.Cached(home)
		}
		if !here {
			if err := get(ctx, home, e.Name); err != nil {
				return run.Start{Name: e.Name}, err
			}
		}
		return run.Start{Name: e.Name, Path: e.Path(home), Network: e.Network, Size: e.Size, Pixels: e.Pixels}, nil
	}
}
