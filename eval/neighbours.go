package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Neighbours holds the k nearest gallery items of every query. Those of query i are Row[i*K : (i+1)*K],
// nearest first, and by index for equal distances.
type Neighbours struct {
	K   int
	Row []int32
	// Value is the squared distance (Euclidean), the cosine or the product for
	// each entry of Row.
	Value []float64
}

// Nearest finds the exact k nearest items of every query. A nil gallery means that the queries are the
// gallery, and each query's own row is left out, as Options.SelfRows says for a separate gallery. It returns an
// error if k is not in 1..(number of other items), if dimensions differ, if a row is not finite, if the
// distance is unknown, or if the result (12 bytes for each neighbour) exceeds the limit on memory. The
// options Depth, First, From and To have no effect. Once ctx is done it returns ctx.Err(), wrapped, within
// milliseconds.
func Nearest(ctx context.Context, queries, gallery *matrix.Dense, k int, opt RankOptions) (*Neighbours, error) {
	if err := opt.Distance.Check(); err != nil {
		return nil, err
	}
	if queries == nil {
		return nil, errors.New("there are no query embeddings")
	}
	g, self := queries, exact.Self{Same: gallery == nil}
	if gallery != nil {
		g, self.Item = gallery, opt.SelfRows
		if err := CheckSelf(opt.SelfRows, queries.Rows, gallery.Rows); err != nil {
			return nil, err
		}
	}
	others := self.MinOthers(g.Rows)
	if k < 1 || k > others {
		return nil, fmt.Errorf("%d nearest of %d items: must be 1 to %d", k, others, max(others, 0))
	}
	if g.Cols != queries.Cols {
		return nil, fmt.Errorf("the queries have %d dimensions, but the gallery has %d", queries.Cols, g.Cols)
	}
	if err := exact.CheckWidth(g.Cols); err != nil {
		return nil, err
	}
	if err := exact.CheckFinite(queries, "query"); err != nil {
		return nil, err
	}
	if err := exact.CheckFinite(g, "gallery"); err != nil {
		return nil, err
	}
	if err := budget.Check(fmt.Sprintf("the %d nearest of %d items for %d queries", k, g.Rows, queries.Rows),
		budget.Product(int64(queries.Rows), int64(k), 4+8)); err != nil {
		return nil, err
	}
	out := &Neighbours{K: k}
	var err error
	out.Row, out.Value, err = exact.TopK(ctx, queries, g, self, k, exact.Options{
		Distance: exact.Distance(opt.Distance), Memory: opt.memoryLimit(), Progress: opt.Progress,
		FirstKind: opt.tileKind})
	if err != nil {
		return nil, fmt.Errorf("the %d nearest of %d items for %d queries: %w", k, g.Rows, queries.Rows, err)
	}
	return out, nil
}
