package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/progress"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/xla"
	"github.com/spf13/cobra"
)

// newTrain is kindred train, with the flags that say what to compute on.
func newTrain(a *app) *cobra.Command {
	var f cli.TrainFlags
	var on chosen
	cmd := cli.NewTrainCommand("kindred-gpu", &f)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runTrain(cmd, a, &f, &on) }
	on.add(cmd.Flags())
	return cmd
}

func runTrain(cmd *cobra.Command, a *app, f *cli.TrainFlags, on *chosen) error {
	if f.PrintConfig {
		if a.json {
			return json.NewEncoder(a.out).Encode(run.Reference())
		}
		return cli.PrintReference(a.out)
	}
	var seed *uint64
	if cmd.Flags().Changed("seed") {
		seed = &a.seed
	}
	cfg, err := f.LoadConfig(seed)
	if err != nil {
		return err
	}
	devices, err := on.open()
	if err != nil {
		return err
	}
	defer xla.Close(devices)
	home, err := data.Home(f.DataDir)
	if err != nil {
		home = ""
	}
	for _, d := range devices {
		fmt.Fprintf(a.err, "engine: %s\n", escape.Text(d.Backend.DeviceDescription(d.Number)))
	}
	bar := progress.New(a.err, "")
	bar.Pace = true
	res, err := f.Run(cmd.Context(), cfg, run.Options{Home: home, Weights: f.WeightsFlags.Finder(a.fetch(f.Offline)),
		Observe: bar.Observe, OnSetup: func(s run.Setup) { fmt.Fprint(a.err, escape.Text(s.String())) },
		Engine: func(net *nn.Net, cfg *run.Config) (run.Engine, error) { return engine(devices, net, cfg) }})
	if err != nil {
		return err
	}
	for _, l := range res.LeftOut {
		fmt.Fprintln(a.err, l)
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(res.Summary(res.Dir))
	}
	for _, m := range res.Scores {
		fmt.Fprintf(a.out, "%s\t%.4f\n", m.Key(), m.Value)
	}
	fmt.Fprintf(a.err, "the run is on %s; other runs beside it:\n  kindred report %s\n", "report.html", res.Dir)
	return nil
}

// engine puts a run's network on the devices.
func engine(devices []xla.Device, net *nn.Net, cfg *run.Config) (run.Engine, error) {
	pixels, err := prepare.ParseNormalization(cfg.Data.Pixels)
	if err != nil {
		return nil, err
	}
	return xla.New(devices, net, xla.Options{Seed: cfg.Train.Seed, FrozenNorm: cfg.Network.FrozenNorm == run.On,
		Precision: nn.Precision(cfg.Network.Precision), Pixels: pixels})
}

// fetch gets pretrained networks that are not in the folder of weights.
func (a *app) fetch(offline bool) func(ctx context.Context, home, name string) error {
	return func(ctx context.Context, home, name string) error {
		g := weights.Getter{Home: home, Offline: offline, Progress: func(line string) { fmt.Fprintln(a.err, line) }}
		_, err := g.Get(ctx, name)
		return err
	}
}
