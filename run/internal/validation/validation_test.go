package validation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// TestFoundAmong compares with the definition, a loop over all pairs in float64.
func TestFoundAmong(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, m, d := 2+rng.IntN(40), 1+rng.IntN(60), 2+rng.IntN(5) // in one dimension all cosines tie
		x, labels := randomRows(rng, n, d)
		g, others := randomRows(rng, m, d)
		far := func(distance eval.Distance, a, b []float32) float64 { return -nearness(distance, a, b) }
		for _, distance := range []eval.Distance{eval.Euclidean, eval.Cosine} {
			hits, queries := 0, 0
			for i := range n {
				best, hit, any := math.Inf(1), false, false
				for j := range n {
					if j == i {
						continue
					}
					any = any || labels[j] == labels[i]
					if v := far(distance, x.Row(i), x.Row(j)); v < best {
						best, hit = v, labels[j] == labels[i]
					}
				}
				for j := range m {
					if v := far(distance, x.Row(i), g.Row(j)); others[j] != labels[i] && v < best {
						best, hit = v, false
					}
				}
				if any {
					queries++
					if hit {
						hits++
					}
				}
			}
			found, err := SearchWithDistractors(t.Context(), &Rows{x, labels}, &Rows{g, others}, distance)
			h, q := countHits(found)
			if err != nil || h != hits || q != queries {
				t.Errorf("seed %d, %v: %d of %d, want %d of %d (%v)", seed, distance, h, q, hits, queries, err)
			}
		}
	}
}

// Copies on both sides: a validation sample comes before a distractor at the same place.
func TestFoundAmongTies(t *testing.T) {
	x := matrix.FromSlice(2, 1, []float32{1, 1})
	g := matrix.FromSlice(3, 1, []float32{1, 1, 1})
	d := &Rows{g, []int64{5, 7, 5}}
	found, err := SearchWithDistractors(t.Context(), &Rows{x, []int64{5, 5}}, d, eval.Euclidean)
	if h, q := countHits(found); err != nil || h != 2 || q != 2 {
		t.Errorf("%d of %d, %v", h, q, err)
	}
	found, err = SearchWithDistractors(t.Context(), &Rows{x, []int64{5, 6}}, d, eval.Euclidean)
	if h, q := countHits(found); err != nil || h != 0 || q != 0 {
		t.Errorf("classes of one: %d of %d, %v", h, q, err)
	}
}

// countHits counts hits and queries.
func countHits(found []Outcome) (hits, queries int) {
	for _, f := range found {
		if f == Hit {
			hits++
		}
		if f != NotSearched {
			queries++
		}
	}
	return hits, queries
}

// TestFoundIn looks queries up among each other.
func TestFoundIn(t *testing.T) {
	x := matrix.FromSlice(4, 1, []float32{0, 1, 10, 12})
	got, _, err := Search(t.Context(), &Rows{x, []int64{1, 1, 2, 1}}, eval.Euclidean)
	if want := []Outcome{Hit, Hit, NotSearched, Miss}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v (%v)", got, want, err)
	}
	if s := HitRate([]Outcome{Hit, Miss, Hit, NotSearched}); s != 2.0/3 {
		t.Errorf("the share is %v", s)
	}
	if s := HitRate([]Outcome{NotSearched}); s != 0 {
		t.Errorf("of no query the share is %v", s)
	}
}

// TestMargins compares with the definition, a loop over all pairs in float64.
func TestMargins(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n, m, d := 2+rng.IntN(300), 1+rng.IntN(60), 2+rng.IntN(9)
		x, labels := randomRows(rng, n, d)
		g, others := randomRows(rng, m, d)
		for _, distance := range []eval.Distance{eval.Euclidean, eval.Cosine} {
			for _, distractors := range []bool{true, false} {
				parts := [2]*Rows{}
				if distractors {
					parts[1] = &Rows{g, others}
				} else {
					parts[0] = &Rows{g, others}
				}
				values, err := QueryMargins(t.Context(), &Rows{x, labels}, parts[0], parts[1], distance)
				got := MeanNotNaN(values)
				if want := definedMargin(x, labels, g, others, distractors, distance); err != nil ||
					math.Abs(got-want) > 1e-5 {
					t.Errorf("seed %d, %v, distractors %v: %v, want %v (%v)", seed, distance, distractors, got, want,
						err)
				}
			}
		}
	}
}

// Degenerate sets have a margin, of 0: where all is in one place, and where there is nothing
// to compare.
func TestMarginsOfLittle(t *testing.T) {
	same := matrix.FromSlice(4, 2, []float32{1, 1, 1, 1, 1, 1, 1, 1})
	for what, labels := range map[string][]int64{"one place": {1, 1, 2, 2}, "one class": {1, 1, 1, 1},
		"classes of one": {1, 2, 3, 4}} {
		for _, distance := range []eval.Distance{eval.Euclidean, eval.Cosine} {
			v, err := QueryMargins(t.Context(), &Rows{same, labels}, nil, nil, distance)
			if MeanNotNaN(v) != 0 || err != nil {
				t.Errorf("%s, %v: %v, %v", what, distance, v, err)
			}
		}
	}
}

func randomRows(rng *rand.Rand, n, d int) (*matrix.Dense, []int64) {
	x, y := matrix.New(n, d), make([]int64, n)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	for i := range y {
		y[i] = int64(rng.IntN(6))
	}
	return x, y
}

// nearness is the nearness of two vectors.
func nearness(distance eval.Distance, a, b []float32) float64 {
	var dot, aa, bb, square float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
		square += (float64(a[i]) - float64(b[i])) * (float64(a[i]) - float64(b[i]))
	}
	if distance == eval.Cosine {
		return dot / math.Sqrt(aa*bb)
	}
	return -square
}

// definedMargin is the mean margin by its definition.
func definedMargin(x *matrix.Dense, labels []int64, g *matrix.Dense, others []int64, distractors bool,
	distance eval.Distance) float64 {
	var all, margins []float64
	for i, y := range labels {
		own, other := math.Inf(-1), math.Inf(-1)
		pair := func(label int64, v float64, foreign bool) {
			switch {
			case label != y:
				all, other = append(all, v), max(other, v)
			case !foreign:
				own = max(own, v)
			}
		}
		for j := range labels {
			if distractors && j != i {
				pair(labels[j], nearness(distance, x.Row(i), x.Row(j)), false)
			}
		}
		for j := range others {
			pair(others[j], nearness(distance, x.Row(i), g.Row(j)), distractors)
		}
		if !math.IsInf(own-other, 0) && own-other == own-other {
			margins = append(margins, own-other)
		}
	}
	mean, square := 0.0, 0.0
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		square += (v - mean) * (v - mean) / float64(len(all))
	}
	sum := 0.0
	for _, v := range margins {
		sum += math.Tanh(v/math.Sqrt(square)) / float64(len(margins))
	}
	return sum
}
