package eval

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/test/rowtest"
	"github.com/kindred-ml/kindred/matrix"
)

// bulkCounter is a tally that notes what comes in bulk.
type bulkCounter struct {
	*tally
	counts atomic.Int64
}

func (s *bulkCounter) Add(i int, ahead []int32) {
	s.counts.Add(1)
	s.tally.Add(i, ahead)
}

// plainSink hides that a sink counts.
type plainSink struct{ exact.Sink }

// Counting in bulk comes to the same as counting item by item.
func TestBulk(t *testing.T) {
	if !dot16.IsFast() {
		t.Skip("pairs are counted one by one here")
	}
	rng := rand.New(rand.NewPCG(17, 18))
	const n = 2*exact.Block + 61
	for _, name := range slices.Sorted(maps.Keys(rowtest.Kinds)) {
		fill := rowtest.Kinds[name]
		x := matrix.New(n, 24)
		fill(rng, x)
		for _, depth := range []int{0, 5, 100} {
			q := Set{X: x, Labels: [][]int64{labelColumn(rng, n, n/8)}}
			var want *tally
			for _, inBulk := range []bool{false, true} {
				p := newProblem(q, q, exact.Self{Same: true}, RankOptions{Depth: depth})
				sp := p.space()
				r := exact.NewRunner(sp, exact.Self{Same: true}, defaultMemory, quantized.Bits16)
				got, err := newTally(context.Background(), p, sp, 0, n)
				if err != nil {
					t.Fatal(err)
				}
				s := &bulkCounter{tally: got}
				if !inBulk {
					if err := r.Run(context.Background(), plainSink{s}, 0, n); err != nil {
						t.Fatal(err)
					}
					want = got
					continue
				}
				if err := r.Run(context.Background(), s, 0, n); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s, depth %d", name, depth)
				if s.counts.Load() == 0 {
					t.Errorf("%s: nothing came in bulk", what)
				}
				if !slices.Equal(got.remaining, want.remaining) || !slices.Equal(got.aheadOfLast, want.aheadOfLast) {
					t.Errorf("%s: other marks are left", what)
				}
				for i := range n {
					from := got.start[i]
					to := from + int(got.remaining[i])
					if !slices.Equal(got.ahead[from:to], want.ahead[from:to]) {
						t.Fatalf("%s: query %d: %v, want %v", what, i, got.ahead[from:to], want.ahead[from:to])
					}
				}
			}
		}
	}
}
