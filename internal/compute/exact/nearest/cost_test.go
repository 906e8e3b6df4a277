package nearest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Codes rule out nearly all rows: of some thousand, few are scored exactly. What they rule out
// is decided in one task, so that the number does not depend on the machine's cores.
func TestFewAreScored(t *testing.T) {
	const n = 12 * Block
	for _, l := range []simd.Level{simd.Generic, simd.AVX512} {
		restore := simd.Force(l)
		for d, most := range map[int]int64{8: 100, 64: 120} {
			for _, distance := range []exact.Distance{exact.Euclidean, exact.Cosine, exact.Dot} {
				rng := rand.New(rand.NewPCG(uint64(d), 21))
				x := random(rng, n, d, 0)
				parts := []Part{{X: x, Codes: Encode(distance, x, d)}}
				var total int64
				const asked = 4
				for range asked {
					q := &Query{X: random(rng, 1, d, 0), K: 5, Allowed: [][]uint64{allRows(n)}}
					if err := Search(t.Context(), distance, d, parts, []*Query{q}, byRow); err != nil {
						t.Fatal(err)
					}
					if want := naive(distance, d, parts, q); !same(distance, d, q.Found, want) {
						t.Errorf("%v, d %d: %v, want %v", distance, d, q.Found, want)
					}
					total += q.Scored.Load()
				}
				t.Logf("%v, %v, d %d: %d of %d rows are scored", l, distance, d, total/asked, n)
				if total/asked > most {
					t.Errorf("%v, %v, d %d: %d of %d rows are scored, want at most %d", l, distance, d, total/asked, n,
						most)
				}
			}
		}
		restore()
	}
}

// Up to a thirty-second of the rows are scored one by one, and no others; of more the codes
// are looked at.
func TestFewThatCount(t *testing.T) {
	const d, n = 4, 2 * Block
	x := random(rand.New(rand.NewPCG(1, 21)), n, d, 0)
	parts := []Part{{X: x, Codes: Encode(exact.Euclidean, x, d)}}
	for count, direct := range map[int]bool{1: true, n / directShare: true, n/directShare + 1: false} {
		set := make([]uint64, n/64)
		for i := range count {
			row := i * (n - 1) / max(count-1, 1)
			set[row>>6] |= 1 << (row & 63)
		}
		q := &Query{X: make([]float32, d), K: 1, Allowed: [][]uint64{set}}
		if err := Search(t.Context(), exact.Euclidean, d, parts, []*Query{q}, byRow); err != nil {
			t.Fatal(err)
		}
		if want := naive(exact.Euclidean, d, parts, q); !slices.Equal(q.Found, want) {
			t.Errorf("%d rows: %v, want %v", count, q.Found, want)
		}
		if got := int(q.Scored.Load()); (got == count) != direct || got > count {
			t.Errorf("%d of %d rows that count were scored", got, count)
		}
	}
	// A number that is given is not counted again, and of none nothing is looked at.
	q := &Query{X: make([]float32, d), K: 1, Allowed: [][]uint64{allRows(n)}, Counts: []int{0}}
	if err := Search(t.Context(), exact.Euclidean, d, parts, []*Query{q}, byRow); err != nil || len(q.Found) != 0 {
		t.Errorf("%v, %v", q.Found, err)
	}
}

// Of rows with equal scores those are found that come first by the given order, however many
// there are.
func TestTies(t *testing.T) {
	const d, n = 2, 5 * Block
	x := make([]float32, n*d)
	for i := range n {
		x[i*d] = float32(min(i%5, 1)) // every fifth is at the query, the others are as far
	}
	parts := []Part{{X: x[:n*d/2]}, {X: x[n*d/2:], Codes: Encode(exact.Euclidean, x[n*d/2:], d)}}
	backward := func(a, b Found) int { return byRow(b, a) }
	for _, k := range []int{1, 3, n/5 - 1, n / 5, n/5 + 2, n, n + 9} {
		for name, tie := range map[string]func(a, b Found) int{"forward": byRow, "backward": backward} {
			q := &Query{X: make([]float32, d), K: k, Allowed: [][]uint64{allRows(n / 2), allRows(n - n/2)}}
			if err := Search(t.Context(), exact.Euclidean, d, parts, []*Query{q}, tie); err != nil {
				t.Fatal(err)
			}
			var want []Found
			for _, score := range []float64{0, -1} {
				var equal []Found
				for p, part := range parts {
					for r := range len(part.X) / d {
						if float64(-part.X[r*d]) == score {
							equal = append(equal, Found{int32(p), int32(r), score})
						}
					}
				}
				slices.SortFunc(equal, tie)
				want = append(want, equal...)
			}
			if !slices.Equal(q.Found, want[:min(k, n)]) {
				t.Errorf("%d nearest, %s: %d found", k, name, len(q.Found))
			}
		}
	}
}

// The center is the median of each coordinate, of rows as the distance sees them, and the
// scale brings the median length about it to between a half and one.
func TestFit(t *testing.T) {
	rows := func(x ...float32) func(int) []float32 { return func(r int) []float32 { return x[2*r : 2*r+2] } }
	// Lengths about (2, 10) are 1, 0, 7, 3 and 90: the median is 3.
	x := []float32{1, 10, 2, 10, 9, 10, 2, 13, 2, -80}
	for distance, want := range map[exact.Distance]Space{
		exact.Euclidean: {Center: []float64{2, 10}, Exp: 2},
		exact.Dot:       {Center: []float64{0.5, 2.5}, Exp: 2, Distance: exact.Dot},
	} {
		if got := FitSpace(distance, 2, 5, rows(x...)); !slices.Equal(got.Center, want.Center) || got.Exp != want.Exp ||
			got.Distance != distance {
			t.Errorf("%v: %+v, want %+v", distance, got, want)
		}
	}
	got := FitSpace(exact.Cosine, 2, 3, rows(3, 4, 0, -7, 10, 0)) // (0.6, 0.8), (0, -1) and (1, 0)
	if math.Abs(got.Center[0]-0.6) > 1e-12 || got.Center[1] != 0 || got.Exp != 0 {
		t.Errorf("cosine: %+v", got)
	}
	if got := FitSpace(exact.Euclidean, 2, 0, nil); len(got.Center) != 2 || got.Exp != 0 {
		t.Errorf("of nothing %+v", got)
	}
	if got := FitSpace(exact.Euclidean, 2, 3, rows(5, 5, 5, 5, 5, 5)); got.Exp != 0 || got.Center[0] != 5 {
		t.Errorf("of equal rows %+v", got)
	}
	var asked []int
	FitSpace(exact.Cosine, 1, 10*SampleRows+3, func(r int) []float32 {
		asked = append(asked, r)
		return []float32{1}
	})
	for i, r := range asked {
		if lo := i * 10; r < lo || r > lo+3 {
			t.Errorf("row %d is the %d-th to be looked at", r, i)
		}
	}
	if len(asked) != SampleRows {
		t.Errorf("%d rows were looked at", len(asked))
	}
}

// Sizes of codes, in whole panels and blocks; rows that fill up the last panel never count.
func TestSizes(t *testing.T) {
	for n, want := range map[int][2]int{0: {0, 0}, 1: {32, 1}, 32: {32, 1}, 33: {64, 1}, Block: {Block, 1},
		Block + 1: {Block + 32, 2}} {
		if Padded(n) != want[0] || Blocks(n) != want[1] {
			t.Errorf("%d rows are padded to %d, in %d blocks, want %v", n, Padded(n), Blocks(n), want)
		}
	}
	for d, want := range map[int]bool{1: true, 47: true, 48: false, 1 << 17: false, 1<<17 + 1: true} {
		if IsWide(d) != want {
			t.Errorf("dimension %d takes 16 bits: %v", d, IsWide(d))
		}
	}
	for _, d := range []int{8, 64} {
		x := random(rand.New(rand.NewPCG(2, 21)), 40, d, 0)
		c := Encode(exact.Euclidean, x, d)
		if c.Rows != 40 || len(c.Scale) != 64 || len(c.Half) != 64 || len(c.Slack) != 64 ||
			len(c.Bytes)+2*len(c.Ints) != CodeBytes(40, d) || (c.Ints != nil) != IsWide(d) {
			t.Errorf("dimension %d: %d rows, %d and %d codes of %d bytes", d, c.Rows, len(c.Bytes), len(c.Ints),
				CodeBytes(40, d))
		}
		for r, half := range c.Half {
			if (r >= 40) != math.IsInf(float64(half), 1) {
				t.Errorf("dimension %d: row %d takes %g off its scores", d, r, half)
			}
		}
	}
}
