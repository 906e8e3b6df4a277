package decide

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// Spread has, for classes of a gallery, the distances of items to the nearest other item of the class, in
// ascending order. They show how far another photo of the class may be.
type Spread map[string][]float64

// maxSpreadItems is the largest number of items of a class whose distances are measured. Distances are to the
// nearest of all items of the class.
const maxSpreadItems = 1000

// NewSpread measures the classes of a gallery x (n x d) that have enough items for sets of a coverage.
// The others are left out. Copies of an item count once. Items with an empty label are ignored. It
// returns an error if the coverage is out of range or if labels or rows do not fit, and ctx.Err(),
// wrapped.
func NewSpread(ctx context.Context, x *matrix.Dense, labels []string, by eval.Distance, coverage float64) (Spread,
	error) {
	if !(coverage > 0 && coverage < 1) {
		return nil, fmt.Errorf("the coverage is %v: must be above 0 and below 1", coverage)
	}
	if len(labels) != x.Rows {
		return nil, fmt.Errorf("there are %d items, but %d labels", x.Rows, len(labels))
	}
	of := make(map[string][]int)
	for i, l := range labels {
		if l != "" {
			of[l] = append(of[l], i)
		}
	}
	out := make(Spread)
	for l, rows := range of {
		rows = distinctRows(x, rows)
		if _, enough := coverageIndex(len(rows), coverage); !enough || len(rows) < 2 {
			continue
		}
		own, err := classSpread(ctx, x, rows, by)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", l, err)
		}
		out[l] = own
	}
	return out, nil
}

// distinctRows leaves out rows that are equal in every bit to an earlier row.
func distinctRows(x *matrix.Dense, rows []int) []int {
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

// classSpread measures one class.
func classSpread(ctx context.Context, x *matrix.Dense, rows []int, by eval.Distance) ([]float64, error) {
	class := copyRows(x, rows)
	n := min(len(rows), maxSpreadItems)
	at := make([]int, n) // spread evenly, because neighbouring rows may be from one occasion
	for k := range at {
		at[k] = k * len(rows) / n
	}
	found, err := eval.Nearest(ctx, copyRows(class, at), class, 2, eval.RankOptions{Distance: by})
	if err != nil {
		return nil, err
	}
	out := make([]float64, n)
	for k := range out {
		value := found.Value[2*k]
		if int(found.Row[2*k]) == at[k] {
			value = found.Value[2*k+1]
		}
		out[k] = by.FromValue(value)
	}
	slices.Sort(out)
	return out, nil
}

// coverageIndex returns the index of the one of n ascending distances of a class's own items that covers; false
// if n is too small.
func coverageIndex(n int, coverage float64) (int, bool) {
	k := int(math.Ceil(coverage*float64(n+1) - 1e-9))
	return k - 1, k <= n
}

// CoverageDistance returns the distance within which another photo of a class has the nearest of the class's n
// items, with at least the given probability for every class. It is the ceil(coverage (n + 1))-th
// smallest distance of the items to the nearest other item. If the photo were one more item, every rank
// among the n + 1 would be equally likely, and leaving it out only makes the others' distances larger
// (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005, on nearest neighbours by
// label). It returns false for a class with too few items: 0.9 needs 9, 0.95 needs 19.
//
// It assumes that the photo is drawn like the items: from one of several occasions, when not all items
// are from a single occasion.
func (s Spread) CoverageDistance(label string, coverage float64) (float64, bool) {
	own := s[label]
	k, enough := coverageIndex(len(own), coverage)
	if !enough || k < 0 {
		return 0, false
	}
	return own[k], true
}
