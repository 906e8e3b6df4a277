package eval

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/matrix"
)

// Rows that are all alike take no more memory than others: each query's list would come to hold them all.
func TestNearestOfRowsAllAlike(t *testing.T) {
	const n, d, k = 3000, 8, 5
	one, two := matrix.New(n, d), matrix.New(n, d)
	for i := range n {
		for j := range d {
			one.Row(i)[j] = float32(j) - 3.7
			two.Row(i)[j] = float32(j%(2+i%2)) - 0.3
		}
	}
	for _, dist := range []Distance{Euclidean, Cosine, Dot} {
		for name, x := range map[string]*matrix.Dense{"one": one, "two": two} {
			var got *Neighbours
			var err error
			opt := RankOptions{Distance: dist, Memory: 16 << 20}
			taken := budgettest.Allocated(func() { got, err = Nearest(t.Context(), x, nil, k, opt) })
			if err != nil {
				t.Fatal(err)
			}
			if taken > n*48<<10 {
				t.Errorf("%v, %s: took %d MiB", dist, name, taken>>20)
			}
			for i := range n {
				row := got.Row[i*k : (i+1)*k]
				if name == "one" { // the first, but itself
					for e, r := range row {
						want := int32(e)
						if e >= i {
							want++
						}
						if r != want || got.Value[i*k+e] != got.Value[0] {
							t.Fatalf("%v: neighbour %d of %d is row %d, want %d", dist, e, i, r, want)
						}
					}
				}
				if !slices.IsSorted(row) || slices.Contains(row, int32(i)) {
					t.Fatalf("%v, %s: neighbours of %d are %v", dist, name, i, row)
				}
			}
		}
	}
}
