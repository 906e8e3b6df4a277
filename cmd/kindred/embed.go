package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/run"
)

func newEmbed(a *app) *cobra.Command {
	var from, path, dataDir, dataLabels, out, labels string
	var outside bool
	cmd := &cobra.Command{
		Use:   "embed --run DIR --data PATH --out E.npy",
		Short: "Compute the embeddings of a data set with a trained network",
		Long: `embed runs the network of a finished training run over all samples of a data
set, prepared like the run's test images, and writes one row per sample. The
samples' paths and labels go to a CSV file beside the embeddings, E.labels.csv for
E.npy, unless --labels names another.`,
		Example: `  kindred embed --run runs/photos --data more-photos/ --out E.npy --labels Y.csv
  kindred eval --embeddings E.npy --labels Y.csv`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range [][2]string{{from, "--run"}, {path, "--data"}, {out, "--out"}} {
				if f[0] == "" {
					return usagef("missing %s", f[1])
				}
			}
			if stem, ok := strings.CutSuffix(out, ".npy"); ok && labels == "" {
				labels = stem + ".labels.csv" // where training on ready features looks for them
			}
			if o, l := isStdout(out), isStdout(labels); o && l || a.json && (o || l) {
				return usagef("only one of --out, --labels and --json can go to standard output")
			}
			m, err := run.Load(from)
			if err != nil {
				return err
			}
			d, err := run.OpenData(cmd.Context(), run.DataConfig{Path: path, Labels: dataLabels,
				Crop: m.Config.Data.Crop, Outside: outside}, dataHome(dataDir), formats()...)
			if err != nil {
				return err
			}
			defer d.Close()
			p, err := run.Whole(d)
			if err != nil {
				return err
			}
			e, err := m.Embed(cmd.Context(), p)
			if err != nil {
				return err
			}
			if err := a.writeFile(out, func(w io.Writer) error { return embedding.WriteNPY(w, e.X) }); err != nil {
				return err
			}
			if labels != "" {
				if err := a.writeFile(labels, e.WriteLabels); err != nil {
					return err
				}
			}
			a.sayLeftOut(e.LeftOut)
			if a.json {
				return a.printJSON(map[string]any{"out": out, "labels": labels, "rows": e.X.Rows, "dim": e.X.Cols,
					"left_out": e.LeftOut})
			}
			words := a.out
			if isStdout(out) || isStdout(labels) {
				words = a.err
			}
			_, err = fmt.Fprintf(words, "%s: %d embeddings of %d numbers\n", out, e.X.Rows, e.X.Cols)
			if err == nil && labels != "" {
				_, err = fmt.Fprintf(words, "%s: their paths and labels\n", labels)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&from, "run", "", "folder of a finished run")
	fs.StringVar(&path, "data", "", "data set by name, folder, manifest, benchmark root or file of features (.npy)")
	fs.StringVar(&dataLabels, "data-labels", "", "labels of a file of features; default: those in it or beside it")
	fs.StringVar(&dataDir, "data-dir", "",
		"folder with the data sets known by name; default $"+data.EnvHome+", else one in the user's cache")
	fs.StringVar(&out, "out", "", "file of embeddings to write (.npy); - for standard output")
	fs.StringVar(&labels, "labels", "", "file of the samples' paths and labels to write (.csv); default: beside the "+
		"embeddings, NAME.labels.csv for NAME.npy")
	addOutside(cmd, &outside)
	return cmd
}

// addOutside adds the flag of data.OpenOptions.Outside.
func addOutside(cmd *cobra.Command, outside *bool) {
	cmd.Flags().BoolVar(outside, "allow-outside", false, "let a manifest or list name images outside its folder")
}

// sayLeftOut tells which files and samples were not used.
func (a *app) sayLeftOut(list []data.LeftOut) {
	for _, l := range list {
		fmt.Fprintln(a.err, l)
	}
}
