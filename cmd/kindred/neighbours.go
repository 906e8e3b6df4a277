package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
	"github.com/kindred-ml/kindred/internal/page/report/retrieval"
)

type neighboursFlags struct {
	outputs.Folder
	lookup              inputs.LookupFlags
	distance            string
	queries, k, scratch int
}

// neighboursResult is what kindred neighbours --json prints.
type neighboursResult struct {
	Column string       `json:"column"`
	Random []queryItems `json:"random"`
	Worst  []queryItems `json:"worst"`
	Files  []string     `json:"files"`
}

// queryItems is a query and its nearest items.
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

// rankedItem names a query and its neighbours, which are items of g.
func rankedItem(g *lookup.Table, q retrieval.Ranked) queryItems {
	out := queryItems{Path: g.Table.RowName(q.Query), Row: g.Table.Row(q.Query), Label: g.Label(q.Query)}
	for k, row := range q.Row {
		j := int(row)
		out.Neighbours = append(out.Neighbours, foundItem{Path: g.Table.RowName(j), Row: g.Table.Row(j),
			Label:    g.Label(j),
			Distance: g.Distance.FromValue(q.Value[k]), Right: g.Label(j) == out.Label})
	}
	return out
}

func newNeighbours(a *console.Console) *cobra.Command {
	f := neighboursFlags{lookup: inputs.LookupFlags{Console: a}}
	cmd := &cobra.Command{
		Use:   "neighbours --embeddings FILE [--data SET] --out DIR",
		Short: "Show random and worst queries with their nearest neighbours",
		Long: `neighbours ranks all embeddings for each of them, exactly. It writes neighbours.html,
random.png and worst.png to DIR: rows of a query and its nearest neighbours, with
right and wrong neighbours in different frames. The worst queries are those whose
nearest item with the same label ranks lowest.

Thumbnails come from the data set of --data. The column path of the labels file must
name each item as the data set does; kindred train and kindred embed write it so.
Without --data only labels are shown.`,
		Example: `  kindred neighbours --embeddings runs/a/embeddings.npy --labels runs/a/labels.csv --data mnist --out rows`,
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.Check(cmd, "", flags.When("data-dir allow-outside", true, "data",
				flags.ReasonDataset)); err != nil {
				return err
			}
			switch {
			case f.lookup.Spec.Embeddings == "":
				return cli.Usagef("missing --embeddings")
			case f.Dir == "":
				return cli.Usagef("missing --out")
			}
			if err := cmp.Or(flags.CheckAtLeast("queries", f.queries, 1), flags.CheckAtLeast("neighbours", f.k, 1),
				flags.CheckMebibytes("scratch", f.scratch)); err != nil {
				return err
			}
			return runNeighbours(cmd.Context(), a, &f)
		},
	}
	fs := flags.New(cmd)
	fs.Embeddings(&f.lookup.Spec.Embeddings, "embeddings, one per row")
	fs.Labels(&f.lookup.Spec.Labels, "labels")
	fs.Column(&f.lookup.Spec.Column, "column of labels that defines a right neighbour; "+flags.FirstColumn)
	fs.Outside(&f.lookup.Outside)
	fs.Text(&f.lookup.Spec.In, "data", "", "data set of the pictures, by name or path", complete.Datasets)
	fs.DataDir(&f.lookup.DataDir)
	fs.Distance(&f.distance, "euclidean", "", flags.AnyDistance...)
	fs.IntVar(&f.queries, "queries", 8, "random queries to show, and worst queries to show")
	fs.IntVar(&f.k, "neighbours", 8, "neighbours to show of each query")
	fs.Scratch(&f.scratch)
	cli.AddStrictRows(fs.FlagSet, &f.lookup.Spec.Strict)
	f.Add(cmd, "folder to write to; created if missing")
	return cmd
}

// maxSheetRows is how many queries the picture files show; the page has all.
const maxSheetRows = 10

// firstRows returns the first rows, for a picture file.
func firstRows(rows report.Retrieval) report.Retrieval {
	if n := len(rows.Rows); n > maxSheetRows {
		rows.Caption = fmt.Sprintf("%s: the first %d of %d", rows.Caption, maxSheetRows, n)
		rows.Rows = rows.Rows[:maxSheetRows]
	}
	return rows
}

func runNeighbours(ctx context.Context, a *console.Console, f *neighboursFlags) error {
	cfg := retrieval.Config{Queries: f.queries, Neighbours: f.k, Memory: int64(f.scratch) << 20, Seed: a.Seed}
	var err error
	if cfg.Distance, err = eval.ParseDistance(f.distance); err != nil {
		return cli.UsageError{Err: err}
	}
	if err := f.Choose("", "neighbours.html", "random.png", "worst.png"); err != nil {
		return err
	}
	f.lookup.Spec.Vector = f.lookup.Spec.Embeddings // its rows are the queries
	source, err := lookup.Open(ctx, &f.lookup.Spec, &f.lookup)
	if err != nil {
		return err
	}
	defer source.Close()
	g, err := source.Table(ctx, true)
	if err != nil {
		return err
	}
	defer g.Close()
	g.Distance = cfg.Distance
	set := g.Table
	switch {
	case len(set.Columns) == 0:
		return fmt.Errorf("%s has no labels, which define a right neighbour", f.lookup.Spec.Embeddings)
	case f.lookup.Spec.In != "" && set.Files == nil:
		return fmt.Errorf("--data %s: neither %s nor the labels name the items; give labels with a column path",
			f.lookup.Spec.In,
			f.lookup.Spec.Embeddings)
	}
	// Every picture of the page is held until the page is written.
	const pictureBytes = 1 << 20
	shown := budget.Product(2, int64(min(f.queries, set.X.Rows)), int64(min(f.k, set.X.Rows)+1))
	what := fmt.Sprintf("--queries %d with --neighbours %d", f.queries, f.k)
	if err := budget.CheckProduct(what, shown, pictureBytes); err != nil {
		return err
	}
	if err := budget.CheckProduct(fmt.Sprintf("neighbours of %d rows", set.X.Rows), int64(set.X.Rows),
		int64(256+8*set.X.Cols)); err != nil {
		return err
	}
	if g.Data != nil {
		if cfg.Picture, err = photo.NewReader(ctx, g.Data, set.ItemNames()); err != nil {
			return err
		}
		cfg.Link = photo.Links(filepath.Join(f.Dir, "neighbours.html"), g.Root, set.Files)
	}
	cfg.Label, cfg.Name = g.Label, set.RowName
	if err := f.Make(); err != nil {
		return err
	}
	pair, err := retrieval.ChooseQueries(ctx, set.X, set.Labels()[0], cfg)
	if err != nil {
		return err
	}
	res := neighboursResult{Column: set.Columns[0].Name,
		Random: cli.Map(pair.RandomItems, func(q retrieval.Ranked) queryItems { return rankedItem(g, q) })}
	for i, q := range pair.WorstItems {
		item := rankedItem(g, q)
		item.FirstRight = pair.FirstRight[i]
		res.Worst = append(res.Worst, item)
	}
	all, err := g.Labels(ctx)
	if err != nil {
		return err
	}
	about := fmt.Sprintf("%d items of %d classes from %s", all.Items, all.Classes,
		inputs.DescribeEmbeddings(f.lookup.Spec.Embeddings))
	page := neighboursPage(pair, about, f.distance, res.Column)
	if res.Files, err = f.WriteResults(results.NewText("neighbours.html", outputs.HTMLWriter(page)),
		outputs.NewFigureFile("random.png", figure.PNG, firstRows(pair.Random)),
		outputs.NewFigureFile("worst.png", figure.PNG, firstRows(pair.Worst))); err != nil {
		return err
	}
	return a.PrintResultf(res, "%s\nwritten %s\n", pair.Worst.Caption, strings.Join(res.Files, " "))
}

// neighboursPage shows the chosen queries; about describes
// the items.
func neighboursPage(pair *retrieval.QueryRows, about, distance, column string) report.Page {
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
