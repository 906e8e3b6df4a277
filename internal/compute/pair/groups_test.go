package pair

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var g Groups // reused: what an earlier batch left must not show
	for range 200 {
		n, extra := rng.IntN(30), rng.IntN(30)
		labels := make([]int64, n+extra)
		for i := range labels {
			labels[i] = int64(rng.IntN(5)-2) << (8 * rng.IntN(7))
		}
		self := rng.IntN(2) == 0
		anchors := labels[:n]
		g.Build(anchors, labels, self)
		if g.Anchors() != n {
			t.Fatalf("%d anchors, want %d", g.Anchors(), n)
		}
		for i := range n {
			var own, positives []int32
			for j, y := range labels {
				if y == anchors[i] {
					own = append(own, int32(j))
					if !self || i != j {
						positives = append(positives, int32(j))
					}
				}
			}
			if got := g.NonNegatives(i); !slices.Equal(got, own) {
				t.Fatalf("own %v, want %v", got, own)
			}
			if got := g.Positives(i, nil); !slices.Equal(got, positives) || g.PositiveCount(i) != len(positives) {
				t.Fatalf("positives %v, want %v", got, positives)
			}
		}
	}
	g.Build([]int64{7}, []int64{1, 2}, false)
	if len(g.NonNegatives(0)) != 0 {
		t.Error("an anchor whose label no reference has owns some")
	}
}

// TestWeights compares both ways to add up gradients, with anchors apart from
// references and without, with the sum over pairs.
//
// Long: both ways share the one sum over pairs.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for trial := range 60 {
		n, d := 1+rng.IntN(70), 1+rng.IntN(8)
		m := n
		a := &Rows{}
		if err := a.Set(randomDense(rng, n, d), trial%2 == 0); err != nil {
			t.Fatal(err)
		}
		r := a
		if trial%3 == 0 {
			m = 1 + rng.IntN(70)
			r = &Rows{}
			if err := r.Set(randomDense(rng, m, d), false); err != nil {
				t.Fatal(err)
			}
		}
		table := &Table{A: a, R: r}
		table.Groups.BuildBy(n, m, r == a, func(int, int) Relation { return Negative })
		table.Load(0, n)
		measure := Measure(trial % 3)
		if trial%4 == 0 {
			measure = Euclidean
		}
		dA, dR := matrix.New(n, d), matrix.New(m, d)
		var w Weights
		if r == a {
			w.Reset(table, measure, dA, nil)
		} else {
			w.Reset(table, measure, dA, dR)
		}
		want, wantR := make([][]float64, n), make([][]float64, m)
		for i := range want {
			want[i] = make([]float64, d)
		}
		for j := range wantR {
			wantR[j] = make([]float64, d)
			if r == a {
				wantR[j] = want[j]
			}
		}
		var buf []int32
		for i := range n {
			x := table.Negatives(measure, i, make([]float32, m))
			dx := make([]float32, len(x))
			share := []float64{1, 0.05, 0.3}[rng.IntN(3)]
			for k := range dx {
				if rng.Float64() < share {
					dx[k] = float32(rng.NormFloat64())
				}
			}
			for k, j := range table.NegativeIndices(i, nil) {
				for c := range d {
					u, v := float64(a.E.At(i, c)), float64(r.E.At(int(j), c))
					g := float64(dx[k])
					gu, gv := g*v, g*u
					if measure != Similarity {
						f := 2 * g
						if measure == Euclidean {
							f = g / math.Sqrt(SquaredDistance(a.E.Row(i), r.E.Row(int(j))))
						}
						gu, gv = f*(u-v), f*(v-u)
					}
					want[i][c] += gu
					wantR[j][c] += gv
				}
			}
			w.AddMany(i, nil, x, dx, 0, &buf)
			w.End(i)
		}
		w.Flush()
		w.Gradient()
		check := func(what string, got *matrix.Dense, want [][]float64) {
			for i, row := range want {
				for c, v := range row {
					if diff := math.Abs(float64(got.At(i, c)) - v); diff > 1e-3+1e-4*math.Abs(v) {
						t.Fatalf("trial %d (%v): %s %d, %d is %v, want %v", trial, measure, what, i, c, got.At(i, c), v)
					}
				}
			}
		}
		check("anchor", dA, want)
		if r != a {
			check("reference", dR, wantR)
		}
	}
}

// TestMerge compares with the definition: references of equal ids are own and no
// positives, whatever the labels or the relation say; with views, anchors that are
// positives stay so.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var g Groups
	for trial := range 600 {
		n, extra := rng.IntN(20), rng.IntN(20)
		labels, ids := make([]int64, n+extra), make([]int64, n+extra)
		samples := 1 + rng.IntN(2*(n+extra)+1)
		for i := range labels {
			ids[i] = int64(rng.IntN(samples)) - 3
			labels[i] = ids[i] % 4 // one label a sample
			if trial%3 == 0 {
				labels[i] = int64(rng.IntN(4))
			}
		}
		relate := func(i, j int) Relation {
			if labels[i] == labels[j] {
				return Positive
			}
			return Negative
		}
		if trial%2 == 0 {
			g.Build(labels[:n], labels, true)
		} else {
			relate = func(i, j int) Relation { return Relation((labels[i] + 2*labels[j] + 9) % 3) }
			g.BuildBy(n, n+extra, true, relate)
		}
		views := trial%5 < 2
		g.Merge(ids, views)
		for i := range n {
			var own, positives []int32
			for j := range labels {
				k := Ignored
				if ids[i] != ids[j] || views && i != j && j < n && relate(i, j) == Positive {
					k = relate(i, j)
				}
				if k != Negative {
					own = append(own, int32(j))
				}
				if k == Positive {
					positives = append(positives, int32(j))
				}
			}
			if got := g.NonNegatives(i); !slices.Equal(got, own) {
				t.Fatalf("trial %d, anchor %d: own %v, want %v", trial, i, got, own)
			}
			if got := g.Positives(i, nil); !slices.Equal(got, positives) || g.PositiveCount(i) != len(positives) {
				t.Fatalf("trial %d, anchor %d: positives %v, counted %d, want %v", trial, i, got, g.PositiveCount(i),
					positives)
			}
		}
	}
}
