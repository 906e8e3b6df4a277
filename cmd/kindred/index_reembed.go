package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/reembed"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/calibrations"
	"github.com/kindred-ml/kindred/run"
)

type reembedFlags struct {
	inputs.ModelFlags
	words       string
	distance    string
	dropMissing bool
}

func newIndexReembed(a *console.Console) *cobra.Command {
	var f reembedFlags
	cmd := &cobra.Command{
		Use:               "reembed INDEX --run RUN | INDEX --network NAME",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Replace the network and all embeddings of an index",
		Long: `reembed embeds the photos of all items again, with another network. Ids, paths and
columns stay. Searches use the old network and the old embeddings until all new ones are
computed; then both are replaced in one step. A running kindred serve INDEX takes part: it
goes on answering, also to changes, and loads the new network.

If reembed is interrupted, the same command goes on. It keeps the new embeddings in the folder
reembed of the index and removes them at its end. With another network it starts anew.

An item whose photo has changed is an error: kindred index sync first. So is an item whose
photo is missing or unreadable, unless --drop-missing removes it from the index. A calibration
applies to one network: kindred calibrate INDEX makes a new one, and the old one is put aside.`,
		Example: `  kindred index reembed photos.index --run runs/better
  kindred index reembed photos.index --network model.onnx --drop-missing`,
		Args: exactArgs("index"),
		RunE: func(cmd *cobra.Command, args []string) error { return reembedIndex(cmd.Context(), a, args[0], &f) },
	}
	fs := flags.New(cmd)
	fs.Distance(&f.distance, "", "that of the run's scores; cosine for a network that was not trained here",
		flags.AnyDistance...)
	fs.BoolVar(&f.dropMissing, "drop-missing", false, "remove items whose photos are missing or unreadable")
	inputs.AddTower(cmd, &f.words, "folder of the text tower that was trained together with --network (CLIP, "+
		"SigLIP), to "+
		"search by words")
	f.ModelFlags.Add(cmd)
	return cmd
}

// check refuses flags that do not apply, and returns the distance that a flag names.
func (f *reembedFlags) check() (by eval.Distance, err error) {
	switch {
	case f.Run+f.Network == "":
		return 0, cli.Usagef("missing --run or --network: the network that embeds the photos")
	case f.words != "" && f.Network == "":
		return 0, cli.Usagef("--words %s applies to --network: a text tower belongs to a network that was trained "+
			"together with it and no further", f.words)
	case f.distance != "":
		if by, err = eval.ParseDistance(f.distance); err != nil {
			return 0, cli.UsageError{Err: err}
		}
	}
	return by, nil
}

// reembedResult is the JSON of 'kindred index reembed'.
type reembedResult struct {
	Index string `json:"index"`
	*reembed.Result
	// Calibrated means that the index has a calibration of its network.
	Calibrated bool `json:"calibrated"`
}

func reembedIndex(ctx context.Context, a *console.Console, dir string, f *reembedFlags) error {
	by, err := f.check()
	if err != nil {
		return err
	}
	x, err := inputs.ReadIndex(a, dir) // an index that is missing is an error before the network is loaded
	if err != nil {
		return err
	}
	short := x.Info().Shortfall
	if err := x.Close(); err != nil {
		return err
	}
	if short != nil { // readIndex has said what to do
		return fmt.Errorf("%s is not changed while acknowledged changes are missing from it", dir)
	}
	f.Joint = f.words != ""
	m, err := f.Load(ctx, a)
	if err != nil {
		return err
	}
	if f.distance == "" {
		if by, err = m.Distance(); err != nil {
			return err
		}
	}
	meter := a.NewMeter("embedding", console.Count)
	opt := reembed.Options{Model: m, Name: cmp.Or(f.Run, f.Network), Distance: by, DropMissing: f.dropMissing,
		Describe: func(n *index.Network) error { return inputs.RecordTower(a, f.words, m, f.Network, n) },
		Progress: meter.ShowStage,
		Remark:   func(text string) { fmt.Fprintln(a.Err, escape.Text(text)) }}
	done, err := reembed.Run(ctx, dir, opt)
	meter.Close()
	var bad *reembed.ItemsError
	switch {
	case errors.As(err, &bad):
		return refusedItemsError(dir, bad)
	case errors.Is(err, context.Canceled):
		where := "the index has its old embeddings, and new ones are in " + reembed.Folder(dir)
		return cli.ResumableError{Err: err, Where: where, Command: escape.Command(os.Args...)}
	case err != nil:
		return err
	}
	res := &reembedResult{Index: dir, Result: done}
	if res.Calibrated, err = recalibrate(a, dir, f, m, by, done.Network); err != nil {
		return err
	}
	return a.PrintResult(res, func() error { return res.print(a) })
}

func (r *reembedResult) print(a *console.Console) error {
	if r.Unchanged {
		_, err := fmt.Fprintf(a.Out, "%s: its %d items have the embeddings of %s already\n", escape.Name(r.Index),
			r.Items, escape.Name(r.Network.Name))
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s: %d items have the embeddings of %s; %d photos embedded, %d embedded before, "+
		"%d items removed\n", escape.Name(r.Index), r.Items, escape.Name(r.Network.Name), r.Embedded, r.Reused,
		len(r.Dropped))
	return err
}

// oldCalibrationFile is the file in an index for the calibration of a network that the index had before.
const oldCalibrationFile = "calibration.old.json"

// recalibrate copies the calibration of a network to its index, unless the index has one that fits. It reports whether
// the index then has one. A calibration of another network is put aside: no search and no server takes it.
func recalibrate(a *console.Console, dir string, f *reembedFlags, m *run.Model, by eval.Distance,
	n index.Network) (bool, error) {
	file, source := calibrations.Path(dir, true), n.Network
	have, missing := decide.Load(file)
	if missing == nil && have.CheckNetwork(source, by.String(), m.Net.Spec().OutDim()) == nil {
		return true, nil
	}
	of, err := calibrations.FromNetwork(m, f.Run, f.Network)
	if err != nil {
		return false, err
	}
	of.Distance = by.String()
	c, err := copyCalibration(a, of, file, source)
	if err != nil || c != nil || missing != nil {
		return c != nil, err
	}
	fmt.Fprintf(a.Err, "the calibration was for the old network, and is now in %s; 'kindred calibrate %s' makes a new "+
		"one\n", oldCalibrationFile, escape.Name(dir))
	return false, os.Rename(file, filepath.Join(dir, oldCalibrationFile))
}

// refusedItemsError returns the error for items that cannot be embedded again, with the first of each kind
// and what to do.
func refusedItemsError(dir string, e *reembed.ItemsError) error {
	var b strings.Builder
	for _, kind := range []struct {
		items     []reembed.Item
		what, way string
	}{
		{e.Missing, "whose photo is missing or cannot be read", "put the photos back, or remove the items with " +
			"--drop-missing"},
		{e.Changed, "whose photo has changed since it was embedded", escape.Command("kindred", "index", "sync",
			"PHOTOS", "--index", dir) + " takes over the changes"},
		{e.NoPath, "without a photo, from embeddings or an archive", escape.Command("kindred", "index", "remove", dir,
			"--filter", "path is missing") + " removes them; or make a new index"},
	} {
		if len(kind.items) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s %s; %s:", enum.Count(len(kind.items), "item"), kind.what, kind.way)
		for i, it := range kind.items {
			if i == console.MaxPrinted {
				fmt.Fprintf(&b, "\n  ... and %d more", len(kind.items)-console.MaxPrinted)
				break
			}
			fmt.Fprintf(&b, "\n  %s", escape.Name(it.ID))
			if it.Path != "" {
				fmt.Fprintf(&b, ": %s", escape.Text(it.Reason))
			}
		}
	}
	return fmt.Errorf("%s: %d of %d items cannot be embedded again, and nothing was changed%s", dir,
		len(e.Missing)+len(e.Changed)+len(e.NoPath), e.Items, b.String())
}
