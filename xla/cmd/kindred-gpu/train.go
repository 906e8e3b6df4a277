package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/embedding/parquet"
	"github.com/kindred-ml/kindred/internal/escape"
	"github.com/kindred-ml/kindred/internal/progress"
	"github.com/kindred-ml/kindred/internal/weights"
	"github.com/kindred-ml/kindred/internal/yamltext"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/xla"
)

func runTrain(cmd *cobra.Command, f *trainFlags, asJSON bool) error {
	cfg, err := f.load(cmd)
	if err != nil {
		return err
	}
	backend, err := xla.Open(f.engine)
	if err != nil {
		return err
	}
	defer backend.Finalize()
	home, err := data.Home(f.dataDir)
	if err != nil {
		home = ""
	}
	errs := cmd.ErrOrStderr()
	fmt.Fprintf(errs, "engine: %s\n", escape.Text(backend.Description()))
	bar := progress.New(errs, "")
	bar.Pace = true
	opts := run.Options{
		Dir: f.out, Resume: f.resume != "", Force: f.force, Home: home,
		Formats: embedding.Formats{parquet.Format{}}, Weights: f.findWeights, Observe: bar.Observe,
		Begin:  func(s run.Setup) { fmt.Fprint(errs, escape.Text(s.String())) },
		Engine: func(net *nn.Net, cfg *run.Config) (run.Engine, error) { return engine(backend, net, cfg) },
	}
	if opts.Resume {
		opts.Dir = f.resume
	} else if opts.Dir == "" {
		opts.Dir, opts.Free = filepath.Join("runs", cfg.Name()), true
	}
	res, err := run.Train(cmd.Context(), cfg, opts)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(res.Summary(res.Dir))
	}
	for _, m := range res.Scores {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\t%.4f\n", m.Key(), m.Value)
	}
	fmt.Fprintf(errs, "the run on a page:\n  kindred report %s\n", res.Dir)
	return nil
}

// engine puts a run's network on the device.
func engine(b compute.Backend, net *nn.Net, cfg *run.Config) (run.Engine, error) {
	return xla.New(b, net, xla.Options{Seed: cfg.Train.Seed, FrozenNorm: cfg.Network.FrozenNorm == run.On,
		Precision: nn.Precision(cfg.Network.Precision)})
}

// load reads the configuration as kindred train does.
func (f *trainFlags) load(cmd *cobra.Command) (run.Config, error) {
	file, set := f.config, f.set
	if f.resume != "" {
		if f.config != "" || f.data != "" || f.out != "" || f.force {
			return run.Config{}, usage{errors.New("--resume continues a run as it was configured and cannot be " +
				"combined with -c, --data, --out or --force")}
		}
		folder, err := run.Open(f.resume)
		if err != nil {
			return run.Config{}, fmt.Errorf("nothing to resume in %s: %w", f.resume, err)
		}
		file = folder.ConfigPath()
	}
	if f.data != "" {
		set = append([]string{fmt.Sprintf("data.path=%q", f.data)}, set...)
	}
	if cmd.Flags().Changed("seed") {
		set = append([]string{fmt.Sprintf("train.seed=%d", f.seed)}, set...)
	}
	var text []byte
	if file != "" {
		var err error
		if text, err = yamltext.ReadFile(file); f.resume != "" && errors.Is(err, fs.ErrNotExist) {
			return run.Config{}, fmt.Errorf("nothing to resume: %s is not the folder of a run", f.resume)
		} else if err != nil {
			return run.Config{}, err
		}
	}
	cfg, err := run.Parse(file, text, set...)
	if err != nil {
		return cfg, usage{err}
	}
	return cfg, nil
}

// findWeights finds pretrained networks in the folder of weights. It fetches none:
// kindred does.
func (f *trainFlags) findWeights(_ context.Context, name string) (run.Start, error) {
	home, err := weights.Home(f.weightsDir)
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
		return run.Start{}, fmt.Errorf("%s is not in %s: kindred weights get %s", e.Name, home, e.Name)
	}
	return run.Start{Name: e.Name, Path: e.Path(home), Network: e.Network, Size: e.Size, Pixels: e.Pixels}, nil
}
