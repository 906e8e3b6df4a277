package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

type quantizeFlags struct {
	outputs.Folder
	photos     inputs.PhotoFlags
	count      int
	percentile float64
	float      []string
}

func newQuantize(a *console.Console) *cobra.Command {
	var f quantizeFlags
	cmd := &cobra.Command{
		Use:               "quantize RUN --out DIR",
		ValidArgsFunction: complete.One(complete.Runs),
		Short:             "Write a run whose network computes in 8 bits, and measure what is lost",
		Long: `quantize reads the network of a finished run, measures the ranges of its layers on some
training photos, and writes a run to DIR. The convolutions, dense and linear layers of
that run compute in 8 bits, with exact sums of integers that are equal on all processors.
kindred embed, search, identify, serve, index create and calibrate accept DIR in place of
RUN. DIR has another network: an index or a calibration of RUN does not fit it.

quantize embeds the test photos of the run with both networks. It prints Recall@1 and
MAP@R by the fine label, and the time that each network takes for a photo. If too much is
lost, choose other ranges of activations with --percentile, or leave layers in float32,
such as the first one, with --float.`,
		Example: `  kindred quantize runs/photos --out runs/photos-int8
  kindred quantize runs/photos --out runs/photos-closer --percentile 99.99 --photos 1000`,
		Args: exactArgs("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runQuantize(cmd.Context(), a, &f, args[0]) },
	}
	fs := flags.New(cmd)
	fs.IntVar(&f.count, "photos", 256, "training photos to measure ranges on, drawn by --seed")
	fs.Float64Var(&f.percentile, "percentile", 0, "percentage of a layer's values within its range on either "+
		"side; 100: all; 0: the range with the least squared error")
	fs.List(&f.float, "float", nil, "layers to leave in float32, by the names in quantization.json", complete.Nothing)
	f.Folder.Add(cmd, "folder to write to; created if missing")
	f.photos.Add(cmd)
	return cmd
}

// quantizedRun is what kindred quantize --json prints.
type quantizedRun struct {
	*run.QuantizedModel
	Files []string `json:"files"`
}

func runQuantize(ctx context.Context, a *console.Console, f *quantizeFlags, dir string) error {
	if f.Dir == "" {
		return cli.Usagef("missing --out")
	}
	if err := flags.CheckAtLeast("photos", f.count, 1); err != nil {
		return err
	}
	if f.percentile != 0 && !(f.percentile > 50 && f.percentile <= 100) {
		return cli.Usagef("--percentile %g: want more than 50 and at most 100, or 0 for the range with the least "+
			"squared error",
			f.percentile)
	}
	files := run.QuantizedFiles()
	if err := f.Choose("", files...); err != nil {
		return err
	}
	m, err := run.Load(dir)
	if err != nil {
		return err
	}
	if f.photos.Data != "" {
		m.Config.Data.Name, m.Config.Data.Path = "", f.photos.Data
	}
	m.Config.Data.Outside = m.Config.Data.Outside || f.photos.Outside
	if err := f.Make(); err != nil {
		return err
	}
	meter := a.NewMeter("calibrating", console.Count)
	q, err := m.Quantize(ctx, run.QuantizeOptions{Home: inputs.DataFolder(f.photos.DataDir),
		Formats: cli.EmbeddingFormats(),
		Photos:  f.count,
		Seed:    a.Seed, Choice: nn.RangeChoice{Percentile: f.percentile, Float: f.float}, Progress: meter.ShowStage})
	meter.Close()
	if err != nil {
		if f.photos.Data == "" {
			err = run.ExplainMissingData(err, dir)
		}
		return err
	}
	if err := q.Save(f.Dir); err != nil {
		return err
	}
	if err := f.RecordMade(files...); err != nil {
		return err
	}
	out := &quantizedRun{QuantizedModel: q, Files: f.Paths(files)}
	return a.PrintResult(out, func() error { return printQuantized(a, out, f.Dir) })
}

func printQuantized(a *console.Console, q *quantizedRun, dir string) error {
	fmt.Fprintf(a.Out, "%s: calibrated on %d photos (%s), compared on %d test photos\n", escape.Name(dir), q.Photos,
		q.Method, q.Tested)
	t := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\tRecall@1\tMAP@R\tms a photo")
	for _, m := range []run.Measurement{q.Before, q.After} {
		fmt.Fprintf(t, "%s\t%.4f\t%.4f\t%.2f\n", m.Precision, m.Recall1, m.MAPAtR, 1000*m.Seconds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !nn.Int8.IsFast() {
		fmt.Fprintln(a.Err, "this processor has no VNNI or SDOT: 8 bits give the same embeddings but no faster")
	}
	return nil
}
