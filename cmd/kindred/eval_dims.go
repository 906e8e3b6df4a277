package main

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/mat"
)

// ofLength is the report on embeddings that were cut off.
type ofLength struct {
	Dim    int          `json:"dim"` // numbers of each embedding that count
	Report *eval.Report `json:"report"`
}

// byLength measures the first numbers of each embedding, for each of the lengths asked for.
func (f *evalFlags) byLength(ctx context.Context, a *app, queries eval.Set, gallery *eval.Set, cfg eval.Config) error {
	all := []ofLength{}
	for _, n := range f.dims {
		if n < 1 || n > queries.X.Cols {
			return usagef("--dims %d: the embeddings have %d numbers", n, queries.X.Cols)
		}
	}
	for _, n := range f.dims {
		q, g := queries, gallery
		q.X = beginning(queries.X, n)
		if g != nil {
			cut := *gallery
			cut.X = beginning(gallery.X, min(n, gallery.X.Cols))
			g = &cut
		}
		rep, err := eval.Evaluate(ctx, q, g, cfg)
		if err != nil {
			return err
		}
		all = append(all, ofLength{n, rep})
		if a.json {
			continue
		}
		fmt.Fprintf(a.out, "the first %d of %d numbers:\n", n, queries.X.Cols)
		if err := rep.WriteText(a.out); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(all)
	}
	return nil
}

// beginning copies the first n numbers of each row.
func beginning(x *mat.Dense, n int) *mat.Dense {
	out := mat.New(x.Rows, n)
	for i := range x.Rows {
		copy(out.Row(i), x.Row(i))
	}
	return out
}
