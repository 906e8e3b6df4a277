package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/store"
)

// selectFlags choose items and columns of an index.
type selectFlags struct {
	filter  string
	columns []string
}

func (f *selectFlags) add(cmd *cobra.Command) {
	fs := flags.New(cmd)
	fs.Text(&f.filter, "filter", "", "only items that pass: "+filterHelp, complete.Nothing)
	fs.List(&f.columns, "columns", nil, "columns to show, with commas between them; default: all but those that "+
		"index sync keeps (file.size, ...)", complete.Nothing)
}

// open opens the index and returns what the flags choose of it.
func (f *selectFlags) open(a *console.Console, dir string) (*index.Index, *items.Selection, error) {
	x, err := inputs.ReadIndex(a, dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := f.selection(x)
	if err != nil {
		x.Close()
	}
	return x, s, err
}

// selection returns what the flags choose of an index.
func (f *selectFlags) selection(x *index.Index) (*items.Selection, error) {
	filter, err := parseFilter(f.filter)
	if err != nil {
		return nil, err
	}
	info := x.Info()
	if err := filter.Check(info.Columns); err != nil {
		return nil, cli.UsageError{Err: err}
	}
	columns, err := items.ChooseColumns(info.Columns, f.columns)
	if err != nil {
		return nil, cli.Usagef("--columns: %w", err)
	}
	return &items.Selection{Filter: filter, Columns: columns}, nil
}

func newIndexExport(a *console.Console) *cobra.Command {
	var f selectFlags
	var vectors bool
	cmd := &cobra.Command{
		Use:               "export INDEX FILE.csv|FILE.parquet",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "Write the items of an index with their columns as a table",
		Long: `export writes a row for each item: its id, the path of its photo and its columns. The
table can be changed in a spreadsheet and read again with the photos: 'kindred index create'
and 'kindred index add --update' take it with --columns. - in place of the file writes CSV to standard output.`,
		Example: `  kindred index export photos.index items.csv
  kindred index export photos.index shoes.parquet --filter 'label = "shoe"' --vectors
  kindred index export photos.index - --columns label,price`,
		Args: exactArgs("index", "file"),
		RunE: func(_ *cobra.Command, args []string) error { return f.export(a, args[0], args[1], vectors) },
	}
	f.add(cmd)
	flags.New(cmd).BoolVar(&vectors, "vectors", false, "write the embeddings as well, as the column embedding of "+
		"a .parquet file")
	return cmd
}

func (f *selectFlags) export(a *console.Console, dir, file string, vectors bool) error {
	ext := strings.ToLower(filepath.Ext(file))
	switch {
	case outputs.IsStdout(file):
		ext = ".csv"
	case ext != ".csv" && ext != ".parquet":
		return cli.Usagef("%s: want a file that ends in .csv or .parquet, or - for CSV on standard output", file)
	}
	if vectors && ext == ".csv" {
		return cli.Usagef("--vectors applies to a .parquet file: CSV has no column of vectors")
	}
	x, s, err := f.open(a, dir)
	if err != nil {
		return err
	}
	defer x.Close()
	s.Vectors = vectors
	n := 0
	if err := outputs.WriteFile(a, file, func(w io.Writer) (err error) {
		if ext == ".csv" {
			n, err = s.WriteCSV(w, x)
		} else {
			n, err = s.WriteParquet(w, x)
		}
		return err
	}); err != nil || outputs.IsStdout(file) {
		return err
	}
	return a.PrintResultf(map[string]any{"index": dir, "file": file, "items": n, "columns": len(s.Columns)},
		"%s: %s, %s\n", file, enum.Count(n, "item"), enum.Count(len(s.Columns), "column"))
}

// maxListed is the most items that one call lists, as they are held in memory.
const maxListed = 1_000_000

// itemPage is the JSON of 'kindred index list'.
type itemPage struct {
	Index string       `json:"index"`
	Items []store.Item `json:"items"`
	// Next is the --after of the next items; "" after the last one.
	Next string `json:"next,omitempty"`
}

func newIndexList(a *console.Console) *cobra.Command {
	var f selectFlags
	var after string
	var vectors bool
	limit := 20
	cmd := &cobra.Command{
		Use:               "list INDEX",
		ValidArgsFunction: complete.One(complete.Folders),
		Short:             "List items of an index by id, with their columns",
		Example: `  kindred index list photos.index
  kindred index list photos.index --filter 'price > 100' --columns label,price --limit 100
  kindred index list photos.index --json`,
		Args: exactArgs("index"),
		RunE: func(_ *cobra.Command, args []string) error { return f.list(a, args[0], after, limit, vectors) },
	}
	f.add(cmd)
	fs := flags.New(cmd)
	fs.Text(&after, "after", "", "list the items whose ids come after this one", complete.Nothing)
	fs.IntVar(&limit, "limit", limit, "most items to list")
	fs.BoolVar(&vectors, "vectors", false, "print the embeddings as well, with --json")
	return cmd
}

func (f *selectFlags) list(a *console.Console, dir, after string, limit int, vectors bool) error {
	if vectors && !a.JSON {
		return cli.Usagef("--vectors applies to --json: kindred index export --vectors writes them into a file")
	}
	if limit < 1 || limit > maxListed {
		return cli.Usagef("--limit %d: want 1 to %d; kindred index export writes all items", limit, maxListed)
	}
	x, s, err := f.open(a, dir)
	if err != nil {
		return err
	}
	defer x.Close()
	found, err := x.List(s.Filter, after, limit+1)
	if err != nil {
		return err
	}
	out := itemPage{Index: dir, Items: []store.Item{}}
	for i, it := range found {
		if i == limit {
			out.Next = found[i-1].ID
			break
		}
		values := map[string]any{}
		for _, c := range s.Columns {
			if v, ok := it.Columns[c.Name]; ok {
				values[c.Name] = v
			}
		}
		item := store.Item{ID: it.ID, Path: it.Path, Columns: values}
		if vectors {
			item.Vector = it.Vector
		}
		out.Items = append(out.Items, item)
	}
	return a.PrintResult(out, func() error { return out.print(a, s.Columns) })
}

// print writes a row for each item.
func (l *itemPage) print(a *console.Console, columns []store.Column) error {
	if len(l.Items) == 0 {
		_, err := fmt.Fprintln(a.Out, "no items")
		return err
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "id")
	for _, c := range columns {
		fmt.Fprintf(w, "\t%s", escape.Name(c.Name))
	}
	fmt.Fprintln(w)
	for _, it := range l.Items {
		fmt.Fprint(w, escape.Name(it.ID))
		for _, c := range columns {
			fmt.Fprintf(w, "\t%s", escape.Name(store.FormatValue(it.Columns[c.Name])))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil || l.Next == "" {
		return err
	}
	_, err := fmt.Fprintf(a.Err, "the next items: --after %s\n", escape.Command(l.Next))
	return err
}
