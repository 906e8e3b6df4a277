package decide

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// Spread has, by class of a gallery, how far its items are from the nearest other one of the
// class, in ascending order: what tells how far a further photo of the class may lie.
type Spread map[string][]float64

// mostOwn is how many items of a class its spread is measured at. Distances are to the nearest
// of all.
const mostOwn = 1000

// NewSpread measures the classes of a gallery x (n x d) that have enough items for sets of a
// coverage; the others are left out. Copies of an item count once, and items with an empty
// label not at all. Errors: a coverage out of range, labels or rows that do not fit, ctx.Err(),
// wrapped.
func NewSpread(ctx context.Context, x *mat.Dense, labels []string, by rank.Distance, coverage float64) (Spread,
	error) {
	if !(coverage > 0 && coverage < 1) {
		return nil, fmt.Errorf("a coverage of %v: it lies between 0 and 1", coverage)
	}
	if len(labels) != x.Rows {
		return nil, fmt.Errorf("%d items with %d labels", x.Rows, len(labels))
	}
	of := make(map[string][]int)
	for i, l := range labels {
		if l != "" {
			of[l] = append(of[l], i)
		}
	}
	out := make(Spread)
	for l, rows := range of {
		rows = once(x, rows)
		if _, enough := ownRank(len(rows), coverage); !enough || len(rows) < 2 {
			continue
		}
		own, err := spreadOf(ctx, x, rows, by)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", l, err)
		}
		out[l] = own
	}
	return out, nil
}

// once leaves out rows that are equal in every bit to one before.
func once(x *mat.Dense, rows []int) []int {
	seen := make(map[string]bool, len(rows))
	text := make([]byte, 4*x.Cols)
	return slices.DeleteFunc(rows, func(i int) bool {
		for j, v := range x.Row(i) {
			binary.LittleEndian.PutUint32(text[4*j:], math.Float32bits(v))
		}
		before := seen[string(text)]
		seen[string(text)] = true
		return before
	})
}

// spreadOf measures one class.
func spreadOf(ctx context.Context, x *mat.Dense, rows []int, by rank.Distance) ([]float64, error) {
	class := taken(x, rows)
	n := min(len(rows), mostOwn)
	at := make([]int, n) // evenly among them, as neighbouring rows may be of one occasion
	for k := range at {
		at[k] = k * len(rows) / n
	}
	found, err := rank.Nearest(ctx, taken(class, at), class, 2, rank.Options{Distance: by})
	if err != nil {
		return nil, err
	}
	out := make([]float64, n)
	for k := range out {
		value := found.Value[2*k]
		if int(found.Row[2*k]) == at[k] {
			value = found.Value[2*k+1]
		}
		out[k] = by.From(value)
	}
	slices.Sort(out)
	return out, nil
}

// ownRank is which of n ascending distances of a class's own items covers, from 0; false if n
// are too few.
func ownRank(n int, coverage float64) (int, bool) {
	k := int(math.Ceil(coverage*float64(n+1) - 1e-9))
	return k - 1, k <= n
}

// Within returns the distance within which a further photo of a class has the nearest of the
// class's n items, with at least the given probability, whatever the class is like: the
// ceil(coverage (n + 1))-th smallest distance of the items to the nearest other one. Were the
// photo one more item, it would be as likely to have any rank among all n + 1; that the others
// are then looked at without it only makes their distances larger (Vovk, Gammerman and Shafer,
// Algorithmic Learning in a Random World, 2005, on nearest neighbours by label). It is false
// for a class with too few items: 0.9 takes 9, 0.95 takes 19.
//
// It rests on the photo being drawn like the items, as one of several occasions, and not all
// of these on one.
func (s Spread) Within(label string, coverage float64) (float64, bool) {
	own := s[label]
	k, enough := ownRank(len(own), coverage)
	if !enough || k < 0 {
		return 0, false
	}
	return own[k], true
}
