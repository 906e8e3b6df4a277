package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/run"
)

type embedFlags struct {
	in io.Reader // standard input
	inputs.ModelFlags
	outputs.Files
	data, dataDir, dataLabels, out, labels string
	outside, keep, strict                  bool
	queued                                 queues.ShareFlags
}

func newEmbed(a *console.Console) *cobra.Command {
	var f embedFlags
	cmd := &cobra.Command{
		Use:               "embed RUN DATA --out FILE",
		ValidArgsFunction: complete.Two(complete.RunOrFile, complete.Datasets),
		Short:             "Compute the embeddings of a data set with a trained or pretrained network",
		Long: `embed runs the network of a finished training run, the folder RUN, over all samples
of the data set DATA, prepared like the run's test images, and writes one row per
sample. --network instead of RUN names a network that was not trained here: an ONNX
file, which gives the features before the classifier, or a network known by name
(kindred weights list). Images are then prepared for that network.

The extension of the output file is its format: .parquet, .csv, .npz and .safetensors
hold each sample's item (id, path, region of a box, digest of the content) and labels
beside its embedding. A .npy file holds embeddings only; paths and labels go to a CSV
file beside it (E.labels.csv for E.npy) or to --labels. DATA may be a folder with or without classes, a single file or an archive;
- reads a list of files, one a line, from standard input. --run and --data mean the same
as the arguments.`,
		Example: `  kindred embed runs/photos more-photos/ --out E.parquet
  kindred embed --network model.onnx photos/ --out F.parquet
  kindred embed runs/photos more-photos/ --out E.npy
  kindred embed runs/photos more-photos/ --out E.parquet --queue queue/
  find photos/ -name '*.jpg' | kindred embed runs/photos - --out new.parquet
  kindred eval --embeddings E.npy`,
		Args: func(_ *cobra.Command, args []string) error {
			return f.ReadArgs(args, &f.data, "the data set", "--data")
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.in = cmd.InOrStdin()
			list, queued, what := f.data == "-", f.queued.Queue != "", "jobs of a queue (--queue)"
			if list {
				what = "a list of files (-)"
			}
			if err := flags.Check(cmd, what,
				flags.When("data-dir allow-outside", !list, "", flags.ReasonDataset),
				flags.When("data-labels", !list && !queued, "",
					"it names the labels of a file of features on this machine"),
				flags.When("keep", list || !queued, "", "the cache is that of this machine"),
				flags.When("queue", !list, "", "workers cannot read it")); err != nil {
				return err
			}
			return runEmbed(cmd.Context(), a, &f)
		},
	}
	fs := flags.New(cmd)
	fs.Text(&f.data, "data", "",
		"data set by name, folder, manifest, benchmark root or file of features (.npy)", complete.Datasets)
	fs.Text(&f.dataLabels, "data-labels", "", "labels of a file of features; default: those in it or beside it",
		complete.Files)
	fs.DataDir(&f.dataDir)
	fs.Text(&f.out, "out", "", "file of embeddings to write ("+strings.Join(cli.EmbeddingFormats().Extensions(), ", ")+
		"); - for standard output, as .npy", complete.Files)
	fs.Text(&f.labels, "labels", "", "file of the samples' paths and labels to write (.csv); default: beside the "+
		"embeddings, NAME.labels.csv for NAME.npy", complete.Files)
	fs.Outside(&f.outside)
	fs.BoolVar(&f.keep, "keep", false, "keep each image's features, and use kept features instead of computing "+
		"them; training with network.freeze=body uses the same cache (kindred cache)")
	cli.AddStrict(fs.FlagSet, &f.strict)
	f.ModelFlags.Add(cmd)
	f.Files.Add(cmd, "files", "labels")
	f.queued.Add(cmd)
	return cmd
}

func runEmbed(ctx context.Context, a *console.Console, f *embedFlags) error {
	for _, g := range [][2]string{{f.Run + f.Network, "argument RUN, or --network NAME or FILE of a network that " +
		"was not " +
		"trained here (kindred weights list)"}, {f.data, "argument DATA: the data set to embed"}, {f.out, "--out"}} {
		if g[0] == "" {
			return cli.Usagef("missing %s", g[1])
		}
	}
	format, err := outputs.ChooseFormat(f.out)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	labels := f.labels
	if ext := filepath.Ext(f.out); labels == "" && strings.EqualFold(ext, embedding.NPY.Extension()) {
		labels = strings.TrimSuffix(f.out, ext) + ".labels.csv" // where embedding.FindLabels looks
	}
	labelFormat, err := outputs.ChooseLabelFormat(labels)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if o, l := outputs.IsStdout(f.out), outputs.IsStdout(labels); o && l || a.JSON && (o || l) {
		return cli.Usagef("only one of --out, --labels and --json can go to standard output")
	}
	if err := f.CheckReplace(f.out, labels); err != nil {
		return err
	}
	m, err := f.Load(ctx, a)
	if err != nil {
		return err
	}
	if f.keep {
		if m.Cache, err = home.Features(); err != nil {
			return err
		}
	}
	d, err := f.open(ctx, m.Config.Data.Crop)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := f.checkOutputs(d, labels); err != nil {
		return err
	}
	inputs.PrintNotes(a, d)
	m.Config.Data.Strict = f.strict
	taken := func() error { return nil }
	var e *run.Embeddings
	if f.queued.Queue != "" {
		var end func()
		if e, taken, end, err = f.embedShared(ctx, a, m, d); err == nil {
			defer end()
			err = inputs.CheckSomeRead(e)
		}
	} else {
		e, err = inputs.Embed(ctx, a, m, d.All())
	}
	if err != nil {
		return err
	}
	table := e.Table()
	if table.Network, err = m.Identity(f.Title()); err != nil {
		return err
	}
	if err := items.AddExif(ctx, table, e); err != nil {
		return err
	}
	if err := items.AddItems(ctx, table, e); err != nil {
		return err
	}
	if err := f.write(a, table, format, labels, labelFormat); err != nil {
		return err
	}
	if err := taken(); err != nil {
		return err
	}
	inputs.PrintLeftOut(a, e.LeftOut)
	return printEmbedded(a, f.out, labels, e)
}

// write writes the embeddings, and their paths and labels if they have a file of their own.
func (f *embedFlags) write(a *console.Console, t *embedding.Table, format embedding.Format, labels string,
	labelFormat embedding.Format) error {
	if err := outputs.WriteFile(a, f.out, func(w io.Writer) error { return format.Write(w, t) }); err != nil {
		return err
	}
	if len(outputs.RegularPaths([]string{f.out})) > 0 {
		if err := embedding.WriteNetwork(f.out, format, t); err != nil {
			return err
		}
	}
	if labels != "" {
		t.X, t.ID = nil, nil
		if err := outputs.WriteFile(a, labels, func(w io.Writer) error { return labelFormat.Write(w, t) }); err != nil {
			return err
		}
	}
	return f.RecordMade(f.out, labels)
}

// checkOutputs checks before embedding that the results can be written.
func (f *embedFlags) checkOutputs(d *data.Dataset, labels string) error {
	if labels != "" && d.All().Fine == nil {
		if f.labels != "" {
			return fmt.Errorf("--labels %s: %s has no labels", f.labels, d.Name)
		}
		return fmt.Errorf("--out %s: a .npy file holds no paths, and %s has no labels to write beside it: write "+
			"another format that holds the paths, such as %s, or the numbers alone with --out -", f.out, d.Name,
			strings.TrimSuffix(f.out, filepath.Ext(f.out))+".parquet")
	}
	return atomic.Prepare(outputs.RegularPaths([]string{f.out, labels})...)
}

// embedShared lets the workers of a queue embed d. taken removes the results from the queue; end
// closes the queue.
func (f *embedFlags) embedShared(ctx context.Context, a *console.Console, m *run.Model,
	d *data.Dataset) (e *run.Embeddings, taken func() error, end func(), err error) {
	share, end, err := f.queued.Share(ctx, a, m, d, shards.Source{Data: f.data, Outside: f.outside}, f.dataDir)
	if err != nil {
		return nil, nil, nil, err
	}
	e, list, err := share.Embed(ctx, d.All(), nil)
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	return e, func() error { return share.RemoveResults(ctx, list) }, end, nil
}

// open opens the data set to embed, with or without labels; for - it opens the
// files that standard input lists.
func (f *embedFlags) open(ctx context.Context, crop bool) (*data.Dataset, error) {
	if f.data != "-" {
		return remotedata.Open(ctx, f.data, data.OpenOptions{Home: inputs.DataFolder(f.dataDir), Labels: f.dataLabels,
			Formats: cli.EmbeddingFormats(), Crop: crop, Outside: f.outside, Unlabelled: true, Distinct: true,
			Strict: f.strict})
	}
	paths, err := data.ReadPaths(f.in)
	if err != nil {
		return nil, fmt.Errorf("the list of files on standard input: %w", err)
	}
	seen := make(map[string]bool, len(paths))
	return data.OpenFiles(ctx, slices.DeleteFunc(paths, func(path string) bool {
		twice := seen[path]
		seen[path] = true
		return twice
	}))
}

// printEmbedded prints what was written.
func printEmbedded(a *console.Console, out, labels string, e *run.Embeddings) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"out": out, "labels": labels, "rows": e.X.Rows, "dim": e.X.Cols,
			"left_out": e.LeftOut})
	}
	words := a.Out
	if outputs.IsStdout(out) || outputs.IsStdout(labels) {
		words = a.Err
	}
	_, err := fmt.Fprintf(words, "%s: %d embeddings of %d numbers\n", out, e.X.Rows, e.X.Cols)
	if err == nil && labels != "" {
		_, err = fmt.Fprintf(words, "%s: their paths and labels\n", labels)
	}
	return err
}
