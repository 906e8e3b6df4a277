package items

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/store"
)

// Selection says which items and columns of an index to read.
type Selection struct {
	Filter  *store.Filter // nil: all items
	Columns []store.Column
	Vectors bool // read the embeddings as well
}

// ChooseColumns returns the columns with the given names, in this order. Without names it returns all columns but those
// that record the facts of files for a comparison with their folder.
func ChooseColumns(have []store.Column, names []string) ([]store.Column, error) {
	var out []store.Column
	if len(names) == 0 {
		for _, c := range have {
			if !strings.HasPrefix(c.Name, mirror.Prefix) {
				out = append(out, c)
			}
		}
		return out, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(have, func(c store.Column) bool { return c.Name == name })
		if i < 0 {
			var known []string
			for _, c := range have {
				known = append(known, c.Name)
			}
			return nil, fmt.Errorf("the index has no column %q: its columns are %s", name, strings.Join(known, ", "))
		}
		if slices.Contains(out, have[i]) {
			return nil, fmt.Errorf("the column %q is given twice", name)
		}
		out = append(out, have[i])
	}
	return out, nil
}

// items yields the chosen items of an index. Their order is that of the index, not of the ids.
func (s *Selection) items(x *index.Index) iter.Seq2[store.Item, error] {
	all := x.AllWithoutVectors()
	if s.Vectors {
		all = x.All()
	}
	return func(yield func(store.Item, error) bool) {
		for it, err := range all {
			if (err != nil || s.Filter.Match(&it)) && !yield(it, err) {
				return
			}
		}
	}
}

// WriteCSV writes the chosen items with a header: id, path and the columns. A missing value is an empty cell. It
// returns the number of items.
func (s *Selection) WriteCSV(w io.Writer, x *index.Index) (n int, err error) {
	out := csv.NewWriter(w)
	row := []string{"id", "path"}
	for _, c := range s.Columns {
		row = append(row, c.Name)
	}
	if err := out.Write(row); err != nil {
		return 0, err
	}
	for it, err := range s.items(x) {
		if err != nil {
			return n, err
		}
		row = append(row[:0], it.ID, it.Path)
		for _, c := range s.Columns {
			row = append(row, store.FormatValue(it.Columns[c.Name]))
		}
		if err := out.Write(row); err != nil {
			return n, err
		}
		n++
	}
	out.Flush()
	return n, out.Error()
}

// WriteParquet writes the chosen items as WriteCSV does, with the types of the columns, and with the embeddings if the
// selection has them.
func (s *Selection) WriteParquet(w io.Writer, x *index.Index) (n int, err error) {
	fields := []parquet.Field{{Name: "id"}, {Name: "path"}}
	for _, c := range s.Columns {
		kind := map[store.Kind]parquet.Kind{store.Text: parquet.Text, store.Number: parquet.Number,
			store.Bool: parquet.Bool}[c.Kind]
		fields = append(fields, parquet.Field{Name: c.Name, Kind: kind})
	}
	dim := 0
	if s.Vectors {
		dim = x.Info().Dim
	}
	return parquet.WriteRecords(w, fields, dim, func(yield func(parquet.Record, error) bool) {
		for it, err := range s.items(x) {
			r := parquet.Record{Values: []any{it.ID, it.Path}, Vector: it.Vector}
			for _, c := range s.Columns {
				r.Values = append(r.Values, it.Columns[c.Name])
			}
			if !yield(r, err) {
				return
			}
		}
	})
}
