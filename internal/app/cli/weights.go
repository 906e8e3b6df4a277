package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/run"
)

// WeightsFlags has the flags for the place of pretrained networks, as typed.
type WeightsFlags struct {
	Dir     string
	Offline bool
}

// AddFlags adds the flags to a command.
func (w *WeightsFlags) AddFlags(fs *pflag.FlagSet) {
	AddWeightsDir(fs, &w.Dir)
	fs.BoolVar(&w.Offline, "offline", false, "do not fetch pretrained networks: use only the weights folder")
}

// cachedNames lists the names of the networks in the folder. It is an error if there are none.
func (w WeightsFlags) cachedNames() (names []string, err error) {
	home, err := weights.Home(w.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range weights.Cached(home) {
		names = append(names, e.Name)
	}
	if names == nil {
		err = fmt.Errorf("--try-encoders: there is no network in %s: fetch some with 'kindred weights get NAME'", home)
	}
	return names, err
}

// Finder returns a function for run.Options.Weights. It finds a pretrained network by name; without a
// name, the default network for photos. get fetches a network that is not in the folder; its
// argument home is the folder.
func (w WeightsFlags) Finder(get func(ctx context.Context, home, name string) error) func(context.Context, string) (
	run.Start, error) {
	return func(ctx context.Context, name string) (run.Start, error) {
		home, err := weights.Home(w.Dir)
		if err != nil {
			return run.Start{}, err
		}
		e, here := weights.DefaultStart(home)
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
		return run.Start{Name: e.Name, Path: e.Path(home), Network: e.Network, Size: e.Size, Pixels: e.Pixels,
			Resample: e.Resample}, nil
	}
}
