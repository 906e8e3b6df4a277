package pair

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// TestNegligible: all weights up to the bound are together below a millionth of
// the largest, and up to twice the bound they are not, unless the search, which
// goes up to 1024 times the sure bound, has come to its end.
func TestNegligible(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	steps := make(map[int]bool)
	for trial := range 240 {
		const largest = 1
		const total = 1e-6 * largest
		dx := make([]float32, 1+rng.IntN(6000))
		sure := float32(total) / float32(len(dx))
		// One in 2^s is so small that all of them just exceed the total, which
		// stops the bound there; the others are far above it, or next to nothing.
		s := trial % 12
		for k := range dx {
			switch {
			case k%(1<<s) == 0:
				dx[k] = sure * float32(int(1)<<s) * (1.2 + 0.6*rng.Float32())
			case rng.IntN(2) == 0:
				dx[k] = float32(rng.ExpFloat64())
			default:
				dx[k] = 1e-14 * rng.Float32()
			}
			if rng.IntN(2) == 0 {
				dx[k] = -dx[k]
			}
		}
		below := func(bound float32) (sum float64) {
			for _, x := range dx {
				if x := max(x, -x); x <= bound {
					sum += float64(x)
				}
			}
			return sum
		}
		bound := new(entries).negligible(dx, largest)
		for p := range 11 { // the search may begin anywhere
			if b := (&entries{power: p}).negligible(dx, largest); b != bound {
				t.Fatalf("trial %d: bound %v after 2^%d, %v after nothing", trial, b, p, bound)
			}
		}
		if sum := below(bound); sum > total*(1+1e-4) {
			t.Fatalf("trial %d: weights up to %v are %v together, above %v", trial, bound, sum, total)
		}
		if bound < 1024*sure && below(2*bound) < total*(1-1e-4) {
			t.Fatalf("trial %d: twice the bound, %v, would do: %v of %v", trial, bound, below(2*bound), total)
		}
		steps[int(bound/sure+0.5)] = true
	}
	for p := 1; p <= 1024; p *= 2 {
		if !steps[p] {
			t.Errorf("no trial came to %d times the sure bound", p)
		}
		delete(steps, p)
	}
	if len(steps) > 0 {
		t.Errorf("bounds that are no power of two times the sure one: %v", steps)
	}
}

// TestFlushShortensLists: more than a tenth of the pairs do not stay in lists,
// and fewer do not cost a matrix product.
func TestFlushShortensLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	const n, m = 90, 50 // the anchors' last chunk is not full
	a, r := &Rows{}, &Rows{}
	if err := a.Set(randomDense(rng, n, 4), false); err != nil {
		t.Fatal(err)
	}
	if err := r.Set(randomDense(rng, m, 4), false); err != nil {
		t.Fatal(err)
	}
	table := &Table{A: a, R: r}
	table.Groups.BuildBy(n, m, false, func(int, int) Relation { return Negative })
	for _, tc := range []struct {
		each int // weights of an anchor
		long bool
	}{{5, false}, {6, true}} {
		// All at once, and in two blocks.
		for _, block := range []int{n, 64} {
			dA, dR := matrix.New(n, 4), matrix.New(m, 4)
			var w Weights
			w.Reset(table, Similarity, dA, dR)
			for lo := 0; lo < n; lo += block {
				hi := min(lo+block, n)
				table.Load(lo, hi)
				for i := lo; i < hi; i++ {
					for j := range int32(tc.each) {
						w.Add(i, []int32{j}, []float32{0}, []float32{1})
					}
					w.End(i)
				}
				if got := w.entries(lo, hi); got != (hi-lo)*tc.each {
					t.Fatalf("%d weights listed, want %d", got, (hi-lo)*tc.each)
				}
				w.Flush()
				want := (hi - lo) * tc.each
				if tc.long {
					want = 0
				}
				if got := w.entries(lo, hi); got != want {
					t.Errorf("%d weights an anchor, anchors %d..%d: %d stay listed, want %d", tc.each, lo, hi, got,
						want)
				}
			}
			w.Gradient()
			for i := range n { // the first references added up
				for c := range 4 {
					var want float32
					for j := range tc.each {
						want += r.E.At(j, c)
					}
					if got := dA.At(i, c); got-want > 1e-4 || want-got > 1e-4 {
						t.Fatalf("gradient of anchor %d is %v, want %v", i, got, want)
					}
				}
			}
		}
	}
}
