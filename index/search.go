package index

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// Query is what to search for.
type Query struct {
	// Vector is what to be near to. It must be finite and have the index's
	// dimension.
	Vector []float32
	// K is the most items to find; default 10.
	K int
	// Filter says which items count; nil: all.
	Filter *Filter
	// Exclude holds ids of items that do not count, such as the one that is asked
	// with.
	Exclude []string
	// Exact asks an index that is cut into lists to look at all of them.
	Exact bool
	// Vectors asks for the vectors of what is found.
	Vectors bool
}

// Hit is an item that was found. Vector is nil unless the query asked for it.
type Hit struct {
	Entry
	// Distance is the Euclidean distance, 1 - cosine, or minus the product.
	Distance float64
}

// Result is the answer to a query: its hits, nearest first, ties in the order of
// their ids.
type Result struct {
	Hits []Hit
	// Exact says that nothing that is nearer was left out.
	Exact bool
	// Items is the number of items of the index, Passed of those that passed the
	// filter and were not excluded.
	Items, Passed int
}

// Search finds the items nearest to a vector: fewer than K if there are no more.
// The error is an *InputError or a *FilterError if the query is at fault.
func (x *Index) Search(ctx context.Context, q Query) (*Result, error) {
	if q.K == 0 {
		q.K = 10
	}
	if q.K < 0 {
		return nil, inputf("the %d nearest items: want at least 1", q.K)
	}
	v, err := x.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	if err := checkVector(q.Vector, x.dim, ""); err != nil {
		return nil, err
	}
	sets, err := v.passing(q.Filter)
	if err != nil {
		return nil, err
	}
	res := &Result{Exact: true, Items: v.live()}
	for at, set := range sets {
		for row := range v.rows(at) {
			if !set.has(row) {
				continue
			}
			e, err := v.entry(at, row)
			if err != nil {
				return nil, err
			}
			if slices.Contains(q.Exclude, e.ID) {
				continue
			}
			res.Passed++
			h := Hit{Entry: e, Distance: distance(v.m.Distance, q.Vector, e.Vector)}
			if !q.Vectors {
				h.Vector = nil
			}
			res.Hits = append(res.Hits, h)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(res.Hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	res.Hits = res.Hits[:min(q.K, len(res.Hits))]
	return res, nil
}

func distance(d rank.Distance, x, y []float32) float64 {
	switch d {
	case rank.Cosine:
		if n := math.Sqrt(dot16.Dot(x, x) * dot16.Dot(y, y)); n > 0 {
			return 1 - dot16.Dot(x, y)/n
		}
		return 1
	case rank.Dot:
		return -dot16.Dot(x, y)
	}
	return math.Sqrt(dot16.SquaredDistance(x, y))
}
