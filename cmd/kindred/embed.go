package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/app/remote/remotedata"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/run"
)

type embedFlags struct {
	in io.Reader // standard input
	modelFlags
	outFiles
	data, dataDir, dataLabels, out, labels string
	outside, keep, strict                  bool
	queued                                 shareFlags
}

func newEmbed(a *app) *cobra.Command {
	var f embedFlags
	cmd := &cobra.Command{
		Use:               "embed RUN DATA --out FILE",
		ValidArgsFunction: completeTwo(completeRunOrFile, completeDatasets),
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
			return f.readArgs(args, &f.data, "the data set", "--data")
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.in = cmd.InOrStdin()
			list, queued, what := f.data == "-", f.queued.queue != "", "jobs of a queue (--queue)"
			if list {
				what = "a list of files (-)"
			}
			if err := checkRules(cmd, what,
				flagRule{"data-dir allow-outside", !list, "", reasonDataset},
				flagRule{"data-labels", !list && !queued, "",
					"it names the labels of a file of features on this machine"},
				flagRule{"keep", list || !queued, "", "the cache is that of this machine"},
				flagRule{"queue", !list, "", "workers cannot read it"}); err != nil {
				return err
			}
			return runEmbed(cmd.Context(), a, &f)
		},
	}
	fs := newFlags(cmd)
	fs.text(&f.data, "data", "",
		"data set by name, folder, manifest, benchmark root or file of features (.npy)", completeDatasets)
	fs.text(&f.dataLabels, "data-labels", "", "labels of a file of features; default: those in it or beside it",
		completeFiles)
	fs.dataDir(&f.dataDir)
	fs.text(&f.out, "out", "", "file of embeddings to write ("+strings.Join(embeddingFormats().Extensions(), ", ")+
		"); - for standard output, as .npy", completeFiles)
	fs.text(&f.labels, "labels", "", "file of the samples' paths and labels to write (.csv); default: beside the "+
		"embeddings, NAME.labels.csv for NAME.npy", completeFiles)
	fs.outside(&f.outside)
	fs.BoolVar(&f.keep, "keep", false, "keep each image's features, and use kept features instead of computing "+
		"them; training with network.freeze=body uses the same cache (kindred cache)")
	cli.AddStrict(fs.FlagSet, &f.strict)
	f.modelFlags.add(cmd)
	f.outFiles.add(cmd, "files", "labels")
	f.queued.add(cmd)
	return cmd
}

func runEmbed(ctx context.Context, a *app, f *embedFlags) error {
	for _, g := range [][2]string{{f.run + f.network, "argument RUN, or --network NAME or FILE of a network that " +
		"was not " +
		"trained here (kindred weights list)"}, {f.data, "argument DATA: the data set to embed"}, {f.out, "--out"}} {
		if g[0] == "" {
			return usagef("missing %s", g[1])
		}
	}
	format, err := chooseFormat(f.out)
	if err != nil {
		return usageError(err)
	}
	labels := f.labels
	if ext := filepath.Ext(f.out); labels == "" && strings.EqualFold(ext, embedding.NPY.Extension()) {
		labels = strings.TrimSuffix(f.out, ext) + ".labels.csv" // where embedding.FindLabels looks
	}
	labelFormat, err := chooseLabelFormat(labels)
	if err != nil {
		return usageError(err)
	}
	if o, l := isStdout(f.out), isStdout(labels); o && l || a.json && (o || l) {
		return usagef("only one of --out, --labels and --json can go to standard output")
	}
	if err := f.checkReplace(f.out, labels); err != nil {
		return err
	}
	m, err := f.model(ctx, a)
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
	a.printNotes(d)
	m.Config.Data.Strict = f.strict
	taken := func() error { return nil }
	var e *run.Embeddings
	if f.queued.queue != "" {
		var end func()
		if e, taken, end, err = f.embedShared(ctx, a, m, d); err == nil {
			defer end()
			err = checkSomeRead(e)
		}
	} else {
		e, err = a.embed(ctx, m, d.All())
	}
	if err != nil {
		return err
	}
	table := e.Table()
	if table.Network, err = m.Identity(f.title()); err != nil {
		return err
	}
	if err := addExif(ctx, table, e); err != nil {
		return err
	}
	if err := addItems(ctx, table, e); err != nil {
		return err
	}
	if err := f.write(a, table, format, labels, labelFormat); err != nil {
		return err
	}
	if err := taken(); err != nil {
		return err
	}
	a.printLeftOut(e.LeftOut)
	return a.printEmbedded(f.out, labels, e)
}

// write writes the embeddings, and their paths and labels if they have a file of their own.
func (f *embedFlags) write(a *app, t *embedding.Table, format embedding.Format, labels string,
	labelFormat embedding.Format) error {
	if err := a.writeFile(f.out, func(w io.Writer) error { return format.Write(w, t) }); err != nil {
		return err
	}
	if len(regularPaths([]string{f.out})) > 0 {
		if err := embedding.WriteNetwork(f.out, format, t); err != nil {
			return err
		}
	}
	if labels != "" {
		t.X, t.ID = nil, nil
		if err := a.writeFile(labels, func(w io.Writer) error { return labelFormat.Write(w, t) }); err != nil {
			return err
		}
	}
	return f.recordMade(f.out, labels)
}

// addItems adds the ids of the rows' items and the digests of their contents.
func addItems(ctx context.Context, t *embedding.Table, e *run.Embeddings) error {
	if t.CheckItems() == nil { // a list may have a picture twice
		ids := make([]string, t.Rows())
		for i := range ids {
			ids[i] = t.ItemID(i)
		}
		t.ID = &embedding.Column{Name: "id", Text: ids}
	}
	if !e.Part.Data.HasLocalFiles() {
		return nil
	}
	digests, err := e.Part.Subset(e.Pos).Digests(ctx)
	if err != nil || !slices.ContainsFunc(digests, func(d data.Digest) bool { return d != data.Digest{} }) {
		return err
	}
	for _, d := range digests {
		t.Digests = append(t.Digests, d.String())
	}
	return nil
}

// addExif adds the columns of EXIF data that at least one photo has. A set without labels gets no such
// columns, because they would be taken for labels.
func addExif(ctx context.Context, t *embedding.Table, e *run.Embeddings) error {
	if len(t.Columns) == 0 {
		return nil
	}
	photos, err := e.Part.Subset(e.Pos).EXIF(ctx)
	if err != nil || photos == nil {
		return err
	}
	for _, name := range []string{mirror.Taken, mirror.Camera, mirror.Place} {
		texts, some := make([]string, len(photos)), false
		for i := range photos {
			texts[i], _ = mirror.ExifColumns(&photos[i])[name].(string)
			some = some || texts[i] != ""
		}
		if some {
			t.Columns = append(t.Columns, embedding.NewColumn(name, texts))
		}
	}
	return nil
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
	return atomic.Prepare(regularPaths([]string{f.out, labels})...)
}

// embedShared lets the workers of a queue embed d. taken removes the results from the queue; end
// closes the queue.
func (f *embedFlags) embedShared(ctx context.Context, a *app, m *run.Model, d *data.Dataset) (e *run.Embeddings,
	taken func() error, end func(), err error) {
	share, end, err := f.queued.share(ctx, a, m, d, shards.Source{Data: f.data, Outside: f.outside}, f.dataDir)
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

// embed is m.Embed with a line of progress. It is an error if no sample can be read.
func (a *app) embed(ctx context.Context, m *run.Model, p *data.Part) (*run.Embeddings, error) {
	meter := a.newMeter("embedding", countUnit)
	defer meter.close()
	m.Progress = meter.showCount
	e, err := m.EmbedPart(ctx, p)
	if err != nil {
		return nil, err
	}
	return e, checkSomeRead(e)
}

// embedAndReport is embed, and prints which samples were left out.
func (a *app) embedAndReport(ctx context.Context, m *run.Model, p *data.Part) (*run.Embeddings, error) {
	e, err := a.embed(ctx, m, p)
	if err == nil {
		a.printLeftOut(e.LeftOut)
	}
	return e, err
}

// checkSomeRead returns an error if no picture could be read.
func checkSomeRead(e *run.Embeddings) error {
	if e.X.Rows > 0 || e.Part.Len() == 0 {
		return nil
	}
	return items.NoneReadError(e.Part.Len(), e.LeftOut)
}

// open opens the data set to embed, with or without labels; for - it opens the
// files that standard input lists.
func (f *embedFlags) open(ctx context.Context, crop bool) (*data.Dataset, error) {
	if f.data != "-" {
		return remotedata.Open(ctx, f.data, data.OpenOptions{Home: dataFolder(f.dataDir), Labels: f.dataLabels,
			Formats: embeddingFormats(), Crop: crop, Outside: f.outside, Unlabelled: true, Distinct: true,
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
func (a *app) printEmbedded(out, labels string, e *run.Embeddings) error {
	if a.json {
		return a.printJSON(map[string]any{"out": out, "labels": labels, "rows": e.X.Rows, "dim": e.X.Cols,
			"left_out": e.LeftOut})
	}
	words := a.out
	if isStdout(out) || isStdout(labels) {
		words = a.err
	}
	_, err := fmt.Fprintf(words, "%s: %d embeddings of %d numbers\n", out, e.X.Rows, e.X.Cols)
	if err == nil && labels != "" {
		_, err = fmt.Fprintf(words, "%s: their paths and labels\n", labels)
	}
	return err
}

// chooseFormat returns the format in which embeddings are written to path. Standard output
// and pipes, whose names have no extension, get .npy.
func chooseFormat(path string) (embedding.Format, error) {
	if st, err := os.Stat(path); isStdout(path) || err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return embedding.NPY, nil
	}
	return embeddingFormats().ForPath(path)
}

// chooseLabelFormat returns the format in which paths and labels are written to path, if
// any.
func chooseLabelFormat(path string) (embedding.Format, error) {
	f, err := chooseFormat(path)
	switch {
	case path == "" || f == embedding.NPY && !strings.EqualFold(filepath.Ext(path), embedding.NPY.Extension()):
		return embedding.CSV, nil // the default for a name without an extension
	case f == embedding.NPY:
		err = fmt.Errorf("--labels %s: a .npy file holds no paths; write labels to a .csv file", path)
	}
	return f, err
}

// printNotes prints remarks about how a data set was read.
func (a *app) printNotes(d *data.Dataset) {
	for _, n := range d.Notes {
		fmt.Fprintln(a.err, "note: "+escape.Text(n))
	}
}

// printLeftOut prints which files and samples were not used.
func (a *app) printLeftOut(list []data.LeftOut) {
	for _, l := range list {
		fmt.Fprintln(a.err, l)
	}
}
