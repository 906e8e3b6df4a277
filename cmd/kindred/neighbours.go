package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/cli"
	"github.com/kindred-ml/kindred/internal/cli/results"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
)

type neighboursFlags struct {
	outDir
	embeddings, labels  string
	column, distance    string
	queries, k, scratch int
	photos              photoFlags
	strict              bool
}

// neighboursResult is what kindred neighbours --json prints.
type neighboursResult struct {
	Column string       `json:"column"`
	Random []queryItems `json:"random"`
	Worst  []queryItems `json:"worst"`
	Files  []string     `json:"files"`
}

// queryItems is a query with its nearest items.
type queryItems struct {
	Path  string `json:"path,omitempty"` // if the items have names
	Row   int    `json:"row"`
	Label string `json:"label"`
	// FirstRight is the rank of the nearest item with the query's label.
	FirstRight int         `json:"first_right,omitempty"`
	Neighbours []foundItem `json:"neighbours"`
}

type foundItem struct {
	Path     string  `json:"path,omitempty"`
	Row      int     `json:"row"`
	Label    string  `json:"label"`
	Distance float64 `json:"distance"`
	Right    bool    `json:"right"`
}

// rankedItem names a query and its neighbours, all rows of t, by the first column
// of labels.
func rankedItem(t *embedding.Table, q retrieval.Ranked, d rank.Distance) queryItems {
	name := func(i int) string {
		if t.Files == nil {
			return ""
		}
		return t.Files[i]
	}
	labels := &t.Columns[0]
	out := queryItems{Path: name(q.Query), Row: q.Query, Label: labels.At(q.Query)}
	for k, j := range q.Row {
		label := labels.At(int(j))
		out.Neighbours = append(out.Neighbours, foundItem{Path: name(int(j)), Row: int(j), Label: label,
			Distance: d.From(q.Value[k]), Right: label == out.Label})
	}
	return out
}

func newNeighbours(a *app) *cobra.Command {
	var f neighboursFlags
	cmd := &cobra.Command{
		Use:   "neighbours --embeddings FILE [--data SET] --out DIR",
		Short: "Show random and worst queries with their nearest neighbours",
		Long: `neighbours ranks all embeddings for each of them, exactly, and writes to DIR rows
of a query and its nearest neighbours, with right and wrong ones in different
frames: neighbours.html, random.png and worst.png. The worst queries are those
whose nearest item with the same label ranks lowest.

Thumbnails come from the data set given by --data: the labels file must name
each item as the data set does (as in the labels.csv with a column path that
kindred train and kindred embed write). Without --data only labels are shown.`,
		Example: `  kindred neighbours --embeddings runs/a/embeddings.npy --labels runs/a/labels.csv --data mnist --out rows`,
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.embeddings == "":
				return usagef("missing --embeddings")
			case f.dir == "":
				return usagef("missing --out")
			}
			if err := cmp.Or(atLeast("queries", f.queries, 1), atLeast("neighbours", f.k, 1),
				mebibytes("scratch", f.scratch)); err != nil {
				return err
			}
			return runNeighbours(cmd.Context(), a, &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.embeddings, "embeddings", "",
		"embeddings, one per row ("+strings.Join(formats().Extensions(), ", ")+")")
	fs.StringVar(&f.labels, "labels", "", "labels; default: those in the embeddings file or beside it")
	fs.StringVar(&f.column, "column", "",
		"column of labels that says what is right; default: the first of label, fine and coarse that exists")
	f.photos.add(cmd)
	fs.StringVar(&f.distance, "distance", "euclidean", "euclidean, cosine or dot")
	fs.IntVar(&f.queries, "queries", 8, "queries to show of each kind")
	fs.IntVar(&f.k, "neighbours", 8, "neighbours to show of each query")
	fs.IntVar(&f.scratch, "scratch", 256, "working memory in MiB, besides the embeddings")
	cli.AddStrictRows(fs, &f.strict)
	f.add(cmd, "folder to write to; created if missing")
	return cmd
}

// sheetRows is how many queries the picture files show; the page has all.
const sheetRows = 10

// sheet is the beginning of rows, for a picture file.
func sheet(rows report.Retrieval) report.Retrieval {
	if n := len(rows.Rows); n > sheetRows {
		rows.Caption = fmt.Sprintf("%s: the first %d of %d", rows.Caption, sheetRows, n)
		rows.Rows = rows.Rows[:sheetRows]
	}
	return rows
}

func runNeighbours(ctx context.Context, a *app, f *neighboursFlags) error {
	cfg := retrieval.Config{Queries: f.queries, Neighbours: f.k, Memory: int64(f.scratch) << 20, Seed: a.seed}
	var err error
	if cfg.Distance, err = rank.ParseDistance(f.distance); err != nil {
		return usageError(err)
	}
	if err := f.settle("", "neighbours.html", "random.png", "worst.png"); err != nil {
		return err
	}
	set, err := a.labelled(f.embeddings, f.labels, oneColumn(f.column), f.strict)
	if err != nil {
		return err
	}
	// Every picture of the page is held until the page is written.
	const pictureBytes = 1 << 20
	shown := budget.Product(2, int64(min(f.queries, set.X.Rows)), int64(min(f.k, set.X.Rows)+1))
	what := fmt.Sprintf("--queries %d with --neighbours %d", f.queries, f.k)
	if err := planned(what, shown, pictureBytes); err != nil {
		return err
	}
	if err := planned(fmt.Sprintf("neighbours of %d rows", set.X.Rows), int64(set.X.Rows),
		int64(256+8*set.X.Cols)); err != nil {
		return err
	}
	d, err := f.photos.open(ctx, set.Files, f.embeddings)
	if err != nil {
		return err
	}
	if d != nil {
		defer d.Close()
		if cfg.Picture, err = photo.Of(ctx, d, set.Files); err != nil {
			return err
		}
	}
	labels := set.Labels()[0]
	cfg.Label = set.Columns[0].At
	if set.Files != nil {
		cfg.Name = func(i int) string { return set.Files[i] }
	}
	if cfg.Picture != nil {
		cfg.Link = photo.Links(filepath.Join(f.dir, "neighbours.html"), f.photos.root(), set.Files)
	}
	if err := f.begin(); err != nil {
		return err
	}
	pair, err := retrieval.Choose(ctx, set.X, labels, cfg)
	if err != nil {
		return err
	}
	res := neighboursResult{Column: set.Columns[0].Name}
	for _, q := range pair.RandomItems {
		res.Random = append(res.Random, rankedItem(set, q, cfg.Distance))
	}
	for i, q := range pair.WorstItems {
		item := rankedItem(set, q, cfg.Distance)
		item.FirstRight = pair.FirstRight[i]
		res.Worst = append(res.Worst, item)
	}
	about := fmt.Sprintf("%d items of %d classes from %s", set.X.Rows, classesOf(labels), measured(f.embeddings))
	page := neighboursPage(pair, about, f.distance, res.Column)
	files, err := results.Made(results.Of("neighbours.html", htmlOf(page)),
		drawing("random.png", report.PNG, sheet(pair.Random)), drawing("worst.png", report.PNG, sheet(pair.Worst)))
	if err != nil {
		return err
	}
	if res.Files, err = f.put(files...); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(res)
	}
	_, err = fmt.Fprintf(a.out, "%s\nwritten %s\n", pair.Worst.Caption, strings.Join(res.Files, " "))
	return err
}

// classesOf counts the labels that differ.
func classesOf(labels []int64) int {
	seen := map[int64]bool{}
	for _, y := range labels {
		seen[y] = true
	}
	return len(seen)
}

// neighboursPage shows the queries chosen among items, of which about says what
// they are.
func neighboursPage(pair *retrieval.Pair, about, distance, column string) report.Page {
	for _, rows := range []*report.Retrieval{&pair.Random, &pair.Worst} {
		rows.Caption += ", among " + about
	}
	return report.Page{
		Title: "Queries and their nearest neighbours",
		Lead: fmt.Sprintf("%s, ranked by %s distance. A neighbour is right if it has the same %s as the query.",
			about, distance, column),
		Sections: []report.Section{
			{Title: "Random queries", Blocks: []report.Block{pair.Random}},
			{Title: "Worst queries", Blocks: []report.Block{pair.Worst}},
		},
	}
}
