package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/progress"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/run"
)

// newTrain is kindred train, run by all ranks.
func newTrain(a *app) *cobra.Command {
	var f cli.TrainFlags
	cmd := cli.NewTrainCommand("kindred-mpi", &f)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runTrain(cmd, a, &f) }
	return cmd
}

func runTrain(cmd *cobra.Command, a *app, f *cli.TrainFlags) error {
	if f.PrintConfig {
		if a.json {
			return json.NewEncoder(a.out).Encode(run.Reference())
		}
		return cli.PrintReference(a.out)
	}
	if f.Finish != "" {
		return cli.UsageError{Err: errors.New("--finish makes no steps and needs only one process: use kindred " +
			"train --finish")}
	}
	var seed *uint64
	if cmd.Flags().Changed("seed") {
		seed = &a.seed
	}
	if f.Resume != "" {
		gone, err := a.follow(f)
		if err != nil {
			return err
		}
		defer gone()
	}
	f.Follows = a.ranks.Rank() > 0
	cfg, err := f.LoadConfig(seed)
	if err != nil {
		return err
	}
	home, err := data.Home(f.DataDir)
	if err != nil {
		home = ""
	}
	fmt.Fprintf(a.err, "%d processes, by %s\n", a.ranks.Size(), a.ranks.Name())
	opts := run.Options{Home: home, Weights: f.WeightsFlags.Finder(a.fetch(f.Offline)), Ranks: a.ranks}
	if a.ranks.Rank() == 0 {
		bar := progress.New(a.err, "")
		bar.Pace = true
		opts.Observe = bar.Observe
		opts.OnSetup = func(s run.Setup) { fmt.Fprint(a.err, escape.Text(s.String())) }
	}
	res, err := f.Run(cmd.Context(), cfg, opts)
	if err != nil || a.ranks.Rank() > 0 {
		return err
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(res.Summary(res.Dir))
	}
	for _, m := range res.Scores {
		fmt.Fprintf(a.out, "%s\t%.4f\n", m.Key(), m.Value)
	}
	fmt.Fprintf(a.err, "the run is in %s; other runs beside it:\n  kindred report %s\n", res.Dir, res.Dir)
	return nil
}

// fetch gets pretrained networks that are not in the folder of weights.
func (a *app) fetch(offline bool) func(ctx context.Context, home, name string) error {
	return func(ctx context.Context, home, name string) error {
		g := weights.Getter{Home: home, Offline: offline, Progress: func(line string) { fmt.Fprintln(a.err, line) }}
		_, err := g.Get(ctx, name)
		return err
	}
}

// resumed is a file of the folder of a run that another rank needs to go on from it.
type resumed struct {
	Name string
	Text []byte
}

// follow hands the run folder that is resumed from rank 0, which alone must have it, to the
// others. Each puts it into a folder of its own, which gone removes.
func (a *app) follow(f *cli.TrainFlags) (gone func(), err error) {
	gone = func() {}
	var files []resumed
	if a.ranks.Rank() == 0 {
		folder, err := run.Open(f.Resume)
		if err != nil {
			return gone, err
		}
		for _, path := range []string{folder.ConfigPath(), folder.CheckpointPath()} {
			name, err := filepath.Rel(f.Resume, path)
			if err != nil {
				return gone, err
			}
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // a run that was stopped early begins again
			} else if err != nil {
				return gone, err
			}
			files = append(files, resumed{name, text})
		}
	}
	text, err := json.Marshal(files)
	if err != nil {
		return gone, err
	}
	all, err := a.ranks.AllGather(text)
	if err != nil || a.ranks.Rank() == 0 {
		return gone, err
	}
	if err := json.Unmarshal(all[0], &files); err != nil {
		return gone, err
	}
	dir, err := os.MkdirTemp("", "kindred-mpi-")
	if err != nil {
		return gone, err
	}
	gone = func() { _ = os.RemoveAll(dir) }
	for _, r := range files {
		path := filepath.Join(dir, r.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return gone, err
		}
		if err := os.WriteFile(path, r.Text, 0o666); err != nil {
			return gone, err
		}
	}
	f.Resume = dir
	return gone, nil
}
