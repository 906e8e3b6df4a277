package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/maps"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
)

type mapFlags struct {
	outputs.Folder
	embeddings, labels, method string
	columns                    []string
	perplexity                 float64
	iterations, sample         int
	photos                     inputs.PhotoFlags
	strict                     bool
}

// mapResult is what kindred map --json prints.
type mapResult struct {
	maps.Projection
	Files []string `json:"files"`
}

func newMap(a *console.Console) *cobra.Command {
	var f mapFlags
	cmd := &cobra.Command{
		Use:   "map --embeddings FILE --out DIR",
		Short: "Draw embeddings as a map in the plane (t-SNE or PCA)",
		Long: `map places every embedding in the plane and writes the map to DIR: map.csv
(coordinates and labels), map.svg and map.png, coloured by each column of labels,
and map.html to explore. The page shows the item under the pointer, finds and
filters classes, and saves the items inside a lasso as CSV. Photos come from the
data set of --data, as in kindred neighbours.

Methods:
  tsne        t-SNE: exact up to 2000 rows, else by an interpolated field. If there are
              more than --sample rows, it places a sample, and puts every other row
              beside the nearest row of the sample
  tsne-exact  t-SNE over all pairs: time and memory grow with the square of the rows
  pca         the two directions of largest variance`,
		Example: `  kindred map --embeddings E.npy --labels Y.npy --out map
  kindred map --embeddings runs/a/embeddings.npy --labels runs/a/labels.csv --columns label --perplexity 50 --out map-50
  kindred map --embeddings E.npy --labels Y.npy --sample 20000 --out map-of-a-million`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.Check(cmd, "", flags.When("data-dir allow-outside", true, "data",
				flags.ReasonDataset)); err != nil {
				return err
			}
			for _, flag := range []string{"perplexity", "iterations", "sample"} {
				if cmd.Flags().Changed(flag) && (f.method == "pca" || flag == "sample" && f.method == "tsne-exact") {
					return cli.Usagef("--%s does not apply to --method %s", flag, f.method)
				}
			}
			switch {
			case f.embeddings == "":
				return cli.Usagef("missing --embeddings")
			case f.Dir == "":
				return cli.Usagef("missing --out")
			case !slices.Contains(maps.Methods[:], f.method):
				return cli.Usagef("--method %q: must be tsne, tsne-exact or pca", f.method)
			case cmd.Flags().Changed("perplexity") && !(f.perplexity >= 1 && !math.IsInf(f.perplexity, 1)):
				return cli.Usagef("--perplexity %g: want at least 1, and less than the number of rows", f.perplexity)
			case cmd.Flags().Changed("iterations") && f.iterations < 1:
				return cli.Usagef("--iterations %d: want at least 1", f.iterations)
			case f.sample < 1:
				return cli.Usagef("--sample %d: want at least 1", f.sample)
			}
			return runMap(cmd.Context(), a, &f)
		},
	}
	fs := flags.New(cmd)
	fs.Embeddings(&f.embeddings, "embeddings, one per row")
	fs.Labels(&f.labels, "labels to colour by")
	fs.List(&f.columns, "columns", nil,
		"columns of labels to colour by; default: label, fine and coarse, as far as they exist", complete.Nothing)
	fs.Text(&f.method, "method", "tsne", "tsne, tsne-exact or pca", complete.Words("tsne", "tsne-exact", "pca"))
	fs.Float64Var(&f.perplexity, "perplexity", 0,
		"t-SNE: effective number of neighbours; default 30, or less for fewer than 91 rows")
	fs.IntVar(&f.iterations, "iterations", 0, "t-SNE: number of steps; default 1000")
	fs.IntVar(&f.sample, "sample", 50_000, "t-SNE: most rows to place directly; they are drawn by --seed")
	f.photos.Add(cmd)
	cli.AddStrictRows(fs.FlagSet, &f.strict)
	f.Add(cmd, "folder to write to; created if missing")
	return cmd
}

func runMap(ctx context.Context, a *console.Console, f *mapFlags) error {
	if err := f.Choose("", "map.html", "map.csv", "map.svg", "map.png"); err != nil {
		return err
	}
	set, err := loadForMap(a, f)
	if err == nil && set.Rows() == 0 {
		err = fmt.Errorf("%s: it has no rows", f.embeddings)
	}
	if err != nil {
		return err
	}
	if err := f.Make(); err != nil {
		return err
	}
	if err := planNeighbours(f, set.X.Rows); err != nil {
		return err
	}
	bar := a.NewMeter("t-SNE", console.Count)
	placed, err := maps.Project(ctx, set.X, f.method,
		projection.SampledTSNE{Rows: f.sample, TSNE: projection.TSNE{Perplexity: f.perplexity, Iterations: f.iterations,
			Seed: a.Seed, Progress: bar.ShowCount}})
	bar.Close()
	if err != nil {
		return err
	}
	x, y := placed.X, placed.Y
	m, err := f.newMap(ctx, set, x, y)
	if err != nil {
		return err
	}
	fig := maps.Figure(m)
	res := mapResult{Projection: *placed}
	res.Files, err = f.WriteResults(results.NewText("map.csv",
		func(w io.Writer) error { return maps.WriteCSV(w, set, x, y) }),
		outputs.NewFigureFile("map.svg", figure.SVG, fig), outputs.NewFigureFile("map.png", figure.PNG, fig),
		results.NewText("map.html", outputs.HTMLWriter(placed.Page(m))))
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(res)
	}
	for _, it := range placed.Settings() {
		fmt.Fprintf(a.Out, "%-12s %s\n", it.Name, it.Value)
	}
	fmt.Fprintf(a.Out, "written      %s\n", strings.Join(res.Files, " "))
	return nil
}

// loadForMap reads embeddings. Labels may be missing, unlike for metrics.
func loadForMap(a *console.Console, f *mapFlags) (*embedding.Table, error) {
	t, err := cli.EmbeddingFormats().Read(f.embeddings)
	if err != nil {
		return nil, err
	}
	if t, err = inputs.AddLabelsIfAny(a, t, f.labels, f.columns); err == nil && len(t.Columns) > 0 {
		t, _, err = inputs.KeepLabelled(a, t, f.embeddings, f.strict)
	}
	return t, err
}

// planNeighbours compares the memory of the rows on the page and of t-SNE's neighbours with the limit: all
// rows for the exact method, else three times the perplexity.
func planNeighbours(f *mapFlags, rows int) error {
	const entryBytes = 4 + 8 + 8 + 2*(4+8) + 2*(4+4) // found, turned around, joined
	const rowBytes = 240                             // read, placed, and drawn with labels
	page := budget.Product(int64(rows), rowBytes)
	if f.method == "pca" {
		return budget.Check(fmt.Sprintf("a map of %d rows", rows), page)
	}
	if f.method == "tsne" {
		rows = min(rows, f.sample)
	}
	k := rows - 1
	what := fmt.Sprintf("--method %s of %d rows", f.method, rows)
	if f.method == "tsne" && rows > 2000 {
		perplexity := cmp.Or(f.perplexity, 30)
		k = int(min(float64(k), 3*perplexity+1))
		what = fmt.Sprintf("--perplexity %g of %d rows", perplexity, rows)
	}
	return budget.Check(what, budget.Sum(page, budget.Product(int64(rows), int64(k), entryBytes)))
}

// newMap returns the map with the photos of its items.
func (f *mapFlags) newMap(ctx context.Context, set *embedding.Table, x, y []float64) (report.Map, error) {
	m := maps.NewMap(set, x, y)
	m.File = "map"
	about := fmt.Sprintf("%d items from %s", set.X.Rows, inputs.DescribeEmbeddings(f.embeddings))
	for _, c := range m.Columns {
		about += fmt.Sprintf(", %d classes by %s", len(c.Names), c.Name)
	}
	m.Caption = strings.TrimSpace(about + ". " + m.Caption)
	if f.method == "pca" {
		m.XName, m.YName = "component 1", "component 2"
	}
	d, err := f.photos.Open(ctx, set.Files, f.embeddings)
	if d == nil || err != nil {
		return m, err
	}
	defer d.Close()
	m.Folder = photo.PhotoFolder(filepath.Join(f.Dir, "map.html"), f.photos.Root(), m.Names)
	album := photo.Album{Data: d}
	return m, album.AddThumbs(ctx, &m)
}
