package pair

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// TestTable compares everything a table tells with the vectors themselves: on
// the sphere, off it, with a row of zeros among unit rows, and with references
// apart from the anchors.
//
// Long: it goes through one table and its definition, measure by measure.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 10))
	const n, d = 23, 5
	for trial := range 12 {
		unit, zero, apart := trial%2 == 0, trial%3 == 0, trial%4 < 2
		set := func(rows int) *Rows {
			x := randomDense(rng, rows, d)
			copy(x.Row(rows-1), x.Row(0)) // equal
			copy(x.Row(rows-2), x.Row(1)) // and nearly so
			x.Row(rows - 2)[0] = x.Row(1)[0] * 1.0001
			if zero {
				clear(x.Row(4))
			}
			r := &Rows{}
			if err := r.Set(x, unit); err != nil {
				t.Fatal(err)
			}
			if r.Unit != (unit && !zero) {
				t.Fatalf("rows of norm 1: %v, normalised %v, a row of zeros %v", r.Unit, unit, zero)
			}
			return r
		}
		a := set(n)
		r := a
		if apart {
			r = set(n + 6)
		}
		m := r.E.Rows
		relations := make([]Relation, n*m)
		for k := range relations {
			relations[k] = Relation(rng.IntN(3))
			if trial >= 8 {
				relations[k] = Negative // in runs
				if k%7 < 2 {
					relations[k] = Positive
				}
			}
		}
		if !apart {
			for i := range n {
				relations[i*m+i] = Positive
			}
		}
		table := &Table{A: a, R: r}
		table.Groups.BuildBy(n, m, !apart, func(i, j int) Relation { return relations[i*m+j] })
		lo, hi := 0, n
		if trial >= 6 {
			lo, hi = 3, 17
		}
		table.Load(lo, hi)
		nearly := func(what string, i, j int, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 2e-4*(1+math.Abs(want)) {
				t.Fatalf("trial %d: %s of %d and %d is %v, want %v", trial, what, i, j, got, want)
			}
		}
		for i := lo; i < hi; i++ {
			own := func(j int) bool { return relations[i*m+j] != Negative || !apart && i == j }
			value := func(k Measure, j int) float64 {
				d2 := SquaredDistance(a.E.Row(i), r.E.Row(j))
				switch k {
				case Squared:
					return d2
				case Euclidean:
					return math.Sqrt(d2)
				}
				var s float64
				for c, x := range a.E.Row(i) {
					s += float64(x) * float64(r.E.At(j, c))
				}
				return s
			}
			var negatives, all []int32
			for j := range m {
				all = append(all, int32(j))
				if !own(j) {
					negatives = append(negatives, int32(j))
				}
			}
			if got := table.NegativeIndices(i, nil); !slices.Equal(got, negatives) ||
				table.NegativeCount(i) != len(negatives) {
				t.Fatalf("trial %d, anchor %d: negatives %v, want %v", trial, i, got, negatives)
			}
			for _, k := range []Measure{Similarity, Squared, Euclidean} {
				dst := make([]float32, m)
				table.Values(k, i, all, dst)
				for j := range m {
					nearly(k.String(), i, j, float64(dst[j]), value(k, j))
				}
				for at, x := range table.Negatives(k, i, dst) {
					nearly(k.String(), i, int(negatives[at]), float64(x), value(k, int(negatives[at])))
				}
			}
			near, similar := make([]float32, m), make([]float32, m)
			c := float64(table.Nearness(i, near))
			table.Similarities(i, similar)
			for j := range m {
				d2 := value(Squared, j)
				nearly("D² by nearness", i, j, c-2*float64(table.NearnessOf(i, j)), d2)
				size := float64(a.Sq[i]) + float64(r.Sq[j])
				if share := d2 / size; size > 0 && table.AreNear(i, j) != (share < 0.005) &&
					math.Abs(share-0.005) > 1e-4 {
					t.Fatalf("trial %d: %d and %d, at %v of their size, are near: %v", trial, i, j, share,
						table.AreNear(i, j))
				}
				if own(j) {
					if !math.IsInf(float64(near[j]), -1) || !math.IsInf(float64(similar[j]), -1) {
						t.Fatalf("trial %d: %d is no negative of %d, yet at %v, %v", trial, j, i, near[j], similar[j])
					}
					continue
				}
				nearly("D² by nearness", i, j, c-2*float64(near[j]), d2)
				nearly("S", i, j, float64(similar[j]), value(Similarity, j))
			}
			// Runs are as long as they can be, and none is empty.
			end := -1
			table.forEachNegativeRun(i, func(lo, hi int) {
				if lo >= hi || lo <= end || lo > 0 && !own(lo-1) || hi < m && !own(hi) {
					t.Fatalf("trial %d, anchor %d: a run of negatives %d..%d", trial, i, lo, hi)
				}
				end = hi
			})
		}
		if !table.Loaded(lo, hi) || table.Loaded(lo, hi-1) || table.Loaded(lo+1, hi) {
			t.Errorf("trial %d: loaded %d..%d", trial, lo, hi)
		}
		if table.Unload(); table.Loaded(lo, hi) {
			t.Error("still loaded")
		}
	}
}

// TestRows compares norms, unit rows and the gradient through them with the
// formulas in double precision, at all sizes that float32 has.
//
// Long: the gradient's definition needs the norms'.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 11))
	const n, d = 37, 6
	for _, size := range []float64{1e-40, 1e-18, 1e-9, 1, 1e8, 1e14, 1e18, 1e37} {
		for trial := range 8 {
			normalize, added := trial%2 == 0, trial%4 < 2
			scale := []float64{0.3, 2e7}[trial/4]
			if !normalize && size > 1e8 {
				continue
			}
			x, g := matrix.New(n, d), randomDense(rng, n, d)
			for k := range x.Data {
				x.Data[k] = float32(rng.NormFloat64() * size / 3)
			}
			clear(x.Row(5))
			var r Rows
			if err := r.Set(x, normalize); err != nil {
				t.Fatal(err)
			}
			dx := randomDense(rng, n, d)
			before := slices.Clone(dx.Data)
			r.Backward(g, scale, dx, added)
			for i := range n {
				var s float64
				for _, v := range x.Row(i) {
					s += float64(v) * float64(v)
				}
				norm := math.Sqrt(s)
				sq := s
				e := make([]float64, d)
				for c, v := range x.Row(i) {
					e[c] = float64(v)
					if normalize && norm > 0 {
						e[c], sq = float64(v)/norm, 1
					}
				}
				if math.Abs(float64(r.Sq[i])-sq) > 1e-5*sq+1e-37 {
					t.Fatalf("size %g, row %d: squared norm %v, want %v", size, i, r.Sq[i], sq)
				}
				var dot, longest float64
				for c, v := range e {
					dot += v * float64(g.At(i, c))
					longest = max(longest, math.Abs(float64(g.At(i, c))))
				}
				for c, v := range e {
					if math.Abs(float64(r.E.At(i, c))-v) > 1e-6*max(1, math.Abs(v)) {
						t.Fatalf("size %g: element %d, %d is %v, want %v", size, i, c, r.E.At(i, c), v)
					}
					want, slack := float64(g.At(i, c))*scale, longest*scale
					if normalize && norm == 0 {
						want, slack = 0, 0
					} else if normalize {
						want, slack = (float64(g.At(i, c))-dot*v)*scale/norm, longest*scale/norm
					}
					const most = math.MaxFloat32 / 16
					want = max(-most, min(most, want))
					if added {
						want += float64(before[i*d+c])
					}
					if got := float64(dx.At(i, c)); math.Abs(got-want) > 1e-5*min(slack, most)+1e-6*math.Abs(want) {
						t.Fatalf("size %g, normalised %v, added %v: gradient %d, %d is %v, want %v", size, normalize,
							added, i, c, got, want)
					}
				}
			}
		}
	}
	// Rows longer than MaxNorm must be normalised; one as long as that may stay.
	x := matrix.New(2, 1)
	x.Row(0)[0], x.Row(1)[0] = MaxNorm, -MaxNorm
	var r Rows
	if err := r.Set(x, false); err != nil {
		t.Error(err)
	}
	x.Row(1)[0] = 1.01 * MaxNorm
	if err := r.Set(x, false); err == nil {
		t.Error("a row beyond MaxNorm was taken as it is")
	}
	if err := r.Set(x, true); err != nil || !r.Unit {
		t.Errorf("normalised: %v", err)
	}
}

// TestCenter: each row less its own mean, and the same of gradients.
func TestCenter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 12))
	x := randomDense(rng, 9, 7)
	var from, r Rows
	if err := from.Set(x, true); err != nil {
		t.Fatal(err)
	}
	r.Center(&from)
	g := randomDense(rng, 9, 7)
	sum := make([]float64, 9)
	for i := range sum {
		for _, v := range g.Row(i) {
			sum[i] += float64(v)
		}
	}
	before := slices.Clone(g.Data)
	r.Uncenter(g)
	if r.Unit {
		t.Error("centred rows are not of norm 1")
	}
	for i := range 9 {
		var mean, sq float64
		for _, v := range from.E.Row(i) {
			mean += float64(v) / 7
		}
		for c, v := range from.E.Row(i) {
			want := float64(v) - mean
			sq += want * want
			if math.Abs(float64(r.E.At(i, c))-want) > 1e-6 {
				t.Fatalf("centred %d, %d: %v, want %v", i, c, r.E.At(i, c), want)
			}
			if want := float64(before[i*7+c]) - sum[i]/7; math.Abs(float64(g.At(i, c))-want) > 1e-6 {
				t.Fatalf("gradient %d, %d: %v, want %v", i, c, g.At(i, c), want)
			}
		}
		if math.Abs(float64(r.Sq[i])-sq) > 1e-6 {
			t.Fatalf("squared norm of %d: %v, want %v", i, r.Sq[i], sq)
		}
	}
}
