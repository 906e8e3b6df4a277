package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

type quantizeFlags struct {
	outDir
	photos     photoFlags
	count      int
	percentile float64
	float      []string
}

func newQuantize(a *app) *cobra.Command {
	var f quantizeFlags
	cmd := &cobra.Command{
		Use:               "quantize RUN --out DIR",
		ValidArgsFunction: completeOne(completeRuns),
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
	fs := newFlags(cmd)
	fs.IntVar(&f.count, "photos", 256, "training photos to measure ranges on, drawn by --seed")
	fs.Float64Var(&f.percentile, "percentile", 0, "percentage of a layer's values within its range on either "+
		"side; 100: all; 0: the range with the least squared error")
	fs.list(&f.float, "float", nil, "layers to leave in float32, by the names in quantization.json", completeNothing)
	f.outDir.add(cmd, "folder to write to; created if missing")
	f.photos.add(cmd)
	return cmd
}

// quantizedRun is what kindred quantize --json prints.
type quantizedRun struct {
	*run.QuantizedModel
	Files []string `json:"files"`
}

func runQuantize(ctx context.Context, a *app, f *quantizeFlags, dir string) error {
	if f.dir == "" {
		return usagef("missing --out")
	}
	if err := checkAtLeast("photos", f.count, 1); err != nil {
		return err
	}
	if f.percentile != 0 && !(f.percentile > 50 && f.percentile <= 100) {
		return usagef("--percentile %g: want more than 50 and at most 100, or 0 for the range with the least "+
			"squared error",
			f.percentile)
	}
	files := run.QuantizedFiles()
	if err := f.chooseDir("", files...); err != nil {
		return err
	}
	m, err := run.Load(dir)
	if err != nil {
		return err
	}
	if f.photos.data != "" {
		m.Config.Data.Name, m.Config.Data.Path = "", f.photos.data
	}
	m.Config.Data.Outside = m.Config.Data.Outside || f.photos.outside
	if err := f.makeDir(); err != nil {
		return err
	}
	meter := a.newMeter("calibrating", countUnit)
	q, err := m.Quantize(ctx, run.QuantizeOptions{Home: dataFolder(f.photos.dataDir), Formats: embeddingFormats(),
		Photos: f.count,
		Seed:   a.seed, Choice: nn.RangeChoice{Percentile: f.percentile, Float: f.float}, Progress: meter.showStage})
	meter.close()
	if err != nil {
		if f.photos.data == "" {
			err = run.ExplainMissingData(err, dir)
		}
		return err
	}
	if err := q.Save(f.dir); err != nil {
		return err
	}
	if err := f.recordMade(files...); err != nil {
		return err
	}
	out := &quantizedRun{QuantizedModel: q, Files: f.paths(files)}
	return a.printResult(out, func() error { return a.printQuantized(out, f.dir) })
}

func (a *app) printQuantized(q *quantizedRun, dir string) error {
	fmt.Fprintf(a.out, "%s: calibrated on %d photos (%s), compared on %d test photos\n", escape.Name(dir), q.Photos,
		q.Method, q.Tested)
	t := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\tRecall@1\tMAP@R\tms a photo")
	for _, m := range []run.Measurement{q.Before, q.After} {
		fmt.Fprintf(t, "%s\t%.4f\t%.4f\t%.2f\n", m.Precision, m.Recall1, m.MAPAtR, 1000*m.Seconds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !nn.Int8.IsFast() {
		fmt.Fprintln(a.err, "this processor has no VNNI or SDOT: 8 bits give the same embeddings but no faster")
	}
	return nil
}
