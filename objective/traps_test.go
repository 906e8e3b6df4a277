package objective

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// step runs one step, which must succeed, and returns its gradient too.
func step(t *testing.T, o Options, e *matrix.Dense, labels []int64) (Result, *matrix.Dense) {
	t.Helper()
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	grad := matrix.New(e.Rows, e.Cols)
	r, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad)
	if err != nil {
		t.Fatal(err)
	}
	return r, grad
}

// mustParse makes options of flat keys in pairs.
func mustParse(t *testing.T, pairs ...any) Options {
	t.Helper()
	flat := map[string]any{}
	for k := 0; k < len(pairs); k += 2 {
		flat[pairs[k].(string)] = pairs[k+1]
	}
	o, err := ParseFlat(flat)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// log(1 + exp(x)) overflows float32 at x > 88.
func TestTrapSoftplusOverflow(t *testing.T) {
	e := matrix.FromSlice(3, 2, []float32{100, 0, 0, 100, 100, 1})
	for _, name := range []string{"nca", "npair", "ntxent", "soft-triplet"} {
		r, grad := step(t, mustParse(t, "loss", name, "positives", "easy", "negatives", "hard"), e, []int64{0, 0, 1})
		if math.IsInf(r.Value, 0) || math.IsNaN(r.Value) || r.Value < 50 {
			t.Errorf("%s: value %v", name, r.Value)
		}
		if !slices.ContainsFunc(grad.Data, func(g float32) bool { return g != 0 }) {
			t.Errorf("%s: no gradient on the hardest sample", name)
		}
	}
}

// The square root at distance 0 has no derivative; a NaN there spoils the batch.
func TestTrapSquareRootAtZero(t *testing.T) {
	e := matrix.FromSlice(4, 2, []float32{1, 0, 1, 0, 1, 0, 0, 1})
	for _, o := range []Options{
		mustParse(t, "loss", "triplet", "distance", "euclidean", "positives", "all", "negatives", "all", "margin", 3),
		mustParse(t, "loss", "contrastive", "margin", 3),
		mustParse(t, "loss", "margin", "positives", "all", "negatives", "all", "margin", 3),
	} {
		_, grad := step(t, o, e, []int64{0, 0, 1, 1})
		for _, g := range grad.Data {
			if math.IsNaN(float64(g)) || math.IsInf(float64(g), 0) {
				t.Fatalf("%T: gradient %v", o.Loss, grad.Data)
			}
		}
	}
}

// Near points, where distances from similarities have no correct digit left.
func TestTrapNearPoints(t *testing.T) {
	const gap = 1e-5
	e := matrix.FromSlice(2, 2, []float32{1, 0, 1, gap})
	r, grad := step(t, mustParse(t, "loss", "contrastive", "normalize", true), e, []int64{0, 0})
	if math.Abs(r.Value-gap) > 1e-4*gap {
		t.Errorf("distance %v, want %v", r.Value, gap)
	}
	// Each direction counts once in two terms' mean: the unit vector apart.
	if math.Abs(float64(grad.At(1, 1))-1) > 1e-4 || math.Abs(float64(grad.At(0, 1))+1) > 1e-4 {
		t.Errorf("gradient %v", grad.Data)
	}
}

// The margin loss divides by the number of active terms, of which there may be
// none.
func TestTrapNoActiveTerm(t *testing.T) {
	e := matrix.FromSlice(4, 2, []float32{1, 0, 1, 0.01, -1, 0, -1, 0.01})
	r, grad := step(t, mustParse(t, "loss", "margin", "positives", "all", "negatives", "all", "normalize", true), e,
		[]int64{0, 0, 1, 1})
	if r.Value != 0 || r.Active != 0 || r.Tuples != 12 {
		t.Errorf("%+v", r)
	}
	for _, g := range grad.Data {
		if g != 0 {
			t.Fatalf("gradient %v", grad.Data)
		}
	}
}

// A batch without positives silently gives 0: it must be counted and reported.
func TestTrapNoPositivesIsReported(t *testing.T) {
	e, _ := gaussian(5, 3, 1, 1)
	r, _ := step(t, Options{Normalize: true}, e, []int64{0, 1, 2, 3, 4})
	if r.NoPositive != 5 || r.Tuples != 0 || r.Anchors != 0 || r.Value != 0 {
		t.Errorf("%+v", r)
	}
	r, _ = step(t, Options{Normalize: true}, e, make([]int64, 5))
	if r.NoNegative != 5 || r.Tuples != 0 || r.NoPositive != 0 {
		t.Errorf("%+v", r)
	}
}

// An anchor with no semi-hard negative is left out, or gets the hardest.
func TestTrapNoSemiHardCandidate(t *testing.T) {
	e := matrix.FromSlice(3, 1, []float32{0, 10, 5})
	labels := []int64{0, 0, 1}
	r, _ := step(t, mustParse(t, "positives", "easy", "negatives", "semihard", "margin", 1), e, labels)
	if r.Tuples != 0 || r.NoCandidate != 2 || r.NoPositive != 1 {
		t.Errorf("%+v", r)
	}
	r, _ = step(t, mustParse(t, "positives", "easy", "negatives", "semihard", "fallback", "hard", "margin", 1), e,
		labels)
	if r.Tuples != 2 || r.Fallbacks != 2 || r.Value != 100-25+1 {
		t.Errorf("%+v", r)
	}
}

// Self-pairs: an anchor equal to all others is still not its own positive.
func TestTrapSelfPairs(t *testing.T) {
	e := matrix.New(6, 2)
	for i := range 6 {
		e.Row(i)[0] = 1
	}
	r, _ := step(t, mustParse(t, "loss", "contrastive", "margin", 1), e, []int64{0, 0, 0, 1, 1, 1})
	if r.Tuples != 6*5 || r.Value != 18.0/30 {
		t.Errorf("%+v, want 12 positive pairs at 0 and 18 negative ones at 1", r)
	}
}

// Multi-similarity: positives near 1, anchors with one side only, empty lists.
func TestTrapMultiSimilarityOneSided(t *testing.T) {
	e := matrix.FromSlice(4, 2, []float32{1, 0, 1, 0, 0, 1, -1, 0})
	r, grad := step(t, mustParse(t, "loss", "ms", "normalize", true), e, []int64{0, 0, 1, 2})
	if r.Tuples != 4 {
		t.Errorf("%d anchors count, want 4", r.Tuples)
	}
	for _, g := range grad.Data {
		if math.IsNaN(float64(g)) {
			t.Fatal("NaN")
		}
	}
}

// ProxyNCA leaves the own proxy out of the denominator: at its own proxy and
// orthogonal to the other's, the loss is d_own - d_other = -2 scale².
func TestTrapProxyNCADenominator(t *testing.T) {
	o := mustParse(t, "loss", "proxynca", "normalize", true, "scale", 2)
	o.Classes, o.Dim = 2, 2
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	copy(obj.Params()[0].Value, []float32{5, 0, 0, 5})
	r, err := obj.Step(context.Background(), matrix.FromSlice(1, 2, []float32{3, 0}), Batch{Labels: []int64{0}}, nil)
	if err != nil || math.Abs(r.Value+8) > 1e-6 {
		t.Errorf("%v, %v; want -8", r.Value, err)
	}
}

// Labels beyond 2^24 merge when they pass through float32.
func TestTrapLargeLabels(t *testing.T) {
	e, _ := gaussian(4, 3, 1, 2)
	const big = int64(1) << 60
	r, _ := step(t, mustParse(t, "positives", "all", "negatives", "all"), e, []int64{big, big + 1, big, -big})
	if r.NoPositive != 2 || r.Tuples != 2*2 {
		t.Errorf("%+v", r)
	}
}

func TestNaNNamesTheRow(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		for _, normalize := range []bool{true, false} {
			e, labels := gaussian(9, 4, 3, 1)
			e.Row(7)[2] = bad
			obj, err := New(Options{Normalize: normalize})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := obj.Step(context.Background(), e, Batch{Labels: labels}, nil); err == nil ||
				!strings.Contains(err.Error(), "embedding 7") || !strings.Contains(err.Error(), "element 2") {
				t.Errorf("normalised %v: %v", normalize, err)
			}
		}
	}
}

// Cross-batch memory: queued embeddings are references, not anchors, an
// embedding never meets itself, and a saved queue continues to the same bits.
func TestTrapMemory(t *testing.T) {
	o := mustParse(t, "loss", "contrastive", "normalize", true, "memory", 10, "margin", 1.5)
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var restored *Objective
	for k := range 6 {
		e, labels := gaussian(4, 3, 2, uint64(k))
		grad := matrix.New(4, 3)
		r, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad)
		if err != nil {
			t.Fatal(err)
		}
		// Ordered pairs of the batch, and every anchor with all of the queue.
		if want := 4*3 + 4*min(4*k, 10); r.Tuples != want {
			t.Errorf("step %d: %d pairs, want %d", k, r.Tuples, want)
		}
		if restored != nil {
			again := matrix.New(4, 3)
			r2, err := restored.Step(context.Background(), e, Batch{Labels: labels}, again)
			if err != nil || r2 != r || !slices.Equal(again.Data, grad.Data) {
				t.Errorf("step %d after restoring: %+v, %v; want %+v", k, r2, err, r)
			}
			continue
		}
		if k == 3 {
			state := obj.State()
			if restored, err = New(o); err != nil {
				t.Fatal(err)
			}
			if err := restored.Restore(state); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := restored.Restore(State{}); err == nil {
		t.Error("a state without a memory was accepted")
	}
}

// The gradient with a memory is that of the loss with the queue held still.
func TestMemoryGradient(t *testing.T) {
	o := mustParse(t, "loss", "npair", "normalize", true, "memory", 8)
	first, labels := gaussian(6, 3, 2, 1)
	second, _ := gaussian(6, 3, 2, 2)
	value := func(e *matrix.Dense, grad *matrix.Dense) float64 {
		obj, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := obj.Step(context.Background(), first, Batch{Labels: labels}, nil); err != nil {
			t.Fatal(err)
		}
		r, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad)
		if err != nil {
			t.Fatal(err)
		}
		return r.Value
	}
	grad := matrix.New(6, 3)
	value(second, grad)
	for k := range second.Data {
		const h = 3e-3
		old := second.Data[k]
		second.Data[k] = old + h
		up := value(second, nil)
		second.Data[k] = old - h
		down := value(second, nil)
		second.Data[k] = old
		if slope := (up - down) / (2 * h); math.Abs(slope-float64(grad.Data[k])) > 1e-3 {
			t.Errorf("gradient %d is %v, by differences %v", k, grad.Data[k], slope)
		}
	}
}

// Trimming keeps the terms with the lowest loss.
func TestTrim(t *testing.T) {
	e, labels := gaussian(40, 5, 4, 3)
	for _, name := range []string{"triplet", "contrastive"} {
		whole := mustParse(t, "loss", name, "positives", "all", "negatives", "all", "reduce", "sum", "margin", 1)
		var terms []float64
		r := &reference{x: toRows(e), labels: labels}
		r.choose(e, nil, whole.Mine, whole.Loss, 0)
		r.prepare()
		for a := range r.x {
			for _, p := range r.pos[a] {
				if name == "contrastive" {
					terms = append(terms, r.D(a, p))
					continue
				}
				for _, n := range r.neg[a] {
					terms = append(terms, hinge(r.D2(a, p)-r.D2(a, n)+1))
				}
			}
			for _, n := range r.neg[a] {
				if name == "contrastive" {
					terms = append(terms, hinge(1-r.D(a, n)))
				}
			}
		}
		slices.Sort(terms)
		for _, trim := range []float64{0, 0.1, 0.37, 0.9} {
			o := whole
			o.Trim = trim
			res, grad := step(t, o, e, labels)
			keep := len(terms) - int(trim*float64(len(terms)))
			var want float64
			for _, v := range terms[:keep] {
				want += v
			}
			if res.Tuples != keep || math.Abs(res.Value-want) > 1e-5*want {
				t.Errorf("%s trimmed by %v: %d terms of sum %v, want %d of %v", name, trim, res.Tuples, res.Value, keep,
					want)
			}
			if trim == 0 {
				continue
			}
			// The gradient is that of the terms kept: moving along it by a
			// little changes their sum as it says.
			var norm float64
			for _, g := range grad.Data {
				norm += float64(g) * float64(g)
			}
			if norm == 0 {
				continue // only satisfied triplets are left
			}
			moved := matrix.New(40, 5)
			h := 1e-4 / math.Sqrt(norm)
			for k, g := range grad.Data {
				moved.Data[k] = e.Data[k] - float32(h)*g
			}
			after, _ := step(t, o, moved, labels)
			if got, want := (res.Value-after.Value)/h, norm; math.Abs(got-want) > 0.1*want {
				t.Errorf("%s trimmed by %v: falls at %v along the gradient, want %v", name, trim, got, want)
			}
		}
	}
}

// Further losses and regularisers add up, and so do their gradients.
func TestSumsAndRegularisers(t *testing.T) {
	e, labels := gaussian(12, 4, 3, 5)
	o := mustParse(t, "loss", "contrastive", "normalize", true, "l2", 0.5, "zero_mean", 0.25,
		"plus", []any{map[string]any{"name": "npair", "weight": 2.0},
			map[string]any{"name": "triplet", "positives": "hard", "negatives": "hard", "normalize": true}})
	got, grad := step(t, o, e, labels)
	var value float64
	want := matrix.New(12, 4)
	for k, part := range []Options{
		mustParse(t, "loss", "contrastive", "normalize", true), mustParse(t, "loss", "npair"),
		mustParse(t, "positives", "hard", "negatives", "hard", "normalize", true),
	} {
		r, g := step(t, part, e, labels)
		w := []float64{1, 2, 1}[k]
		value += w * r.Value
		for k, v := range g.Data {
			want.Data[k] += float32(w) * v
		}
	}
	for i := range 12 {
		var sq, sum float64
		for _, v := range e.Row(i) {
			sq += float64(v) * float64(v)
			sum += float64(v)
		}
		value += (0.5*sq + 0.25*math.Abs(sum)) / 12
		for k, v := range e.Row(i) {
			want.Row(i)[k] += float32((float64(v) + 0.25*math.Copysign(1, sum)) / 12)
		}
	}
	if math.Abs(got.Value-value) > 1e-6*value {
		t.Errorf("value %v, want %v", got.Value, value)
	}
	for k, v := range want.Data {
		if math.Abs(float64(grad.Data[k]-v)) > 1e-5 {
			t.Fatalf("gradient %d is %v, want %v", k, grad.Data[k], v)
		}
	}
}

// A further loss learns its own parameters, under its own name, for the classes
// of the first.
func TestFurtherLossLearns(t *testing.T) {
	e, labels := gaussian(12, 4, 3, 5)
	o := mustParse(t, "loss", "margin", "negatives", "hard", "normalize", true,
		"plus", []any{map[string]any{"name": "proxynca", "normalize": true, "weight": 0.5}})
	o.Classes, o.Dim = 3, 4
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := obj.Step(context.Background(), e, Batch{Labels: labels}, matrix.New(12, 4)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range obj.Params() {
		names = append(names, p.Name)
		if !slices.ContainsFunc(p.Grad, func(g float32) bool { return g != 0 }) {
			t.Errorf("%s has no gradient", p.Name)
		}
	}
	if !slices.Equal(names, []string{"beta", "1.proxies"}) {
		t.Errorf("parameters %v", names)
	}
}

// Several labels, and labels in a hierarchy.
func TestRelations(t *testing.T) {
	e, _ := gaussian(5, 3, 1, 6)
	shares := SharesLabel([][]int64{{1, 2}, {2, 3}, {4}, {1, 4}, {}})
	related := [][]int{{1, 3}, {0}, {3}, {0, 2}, {}}
	o := mustParse(t, "loss", "contrastive", "margin", 2)
	o.Relate = shares
	checkPairs(t, o, e, []int64{0, 1, 2, 3, 4}, func(i, j int) Relation {
		if slices.Contains(related[i], j) {
			return Positive
		}
		return Negative
	})
	// Fine labels 0..4 of coarse classes 0, 0, 0, 1, 1.
	o.Relate = CoarseNotFine(func(fine int64) int64 { return fine / 3 })
	labels := []int64{0, 0, 1, 3, 4}
	checkPairs(t, o, e, labels, func(i, j int) Relation {
		switch {
		case labels[i] == labels[j]:
			return Ignored
		case labels[i]/3 == labels[j]/3:
			return Positive
		}
		return Negative
	})
}

func checkPairs(t *testing.T, o Options, e *matrix.Dense, labels []int64, relate func(i, j int) Relation) {
	t.Helper()
	got, _ := step(t, o, e, labels)
	r := &reference{x: toRows(e)}
	r.pos, r.neg = make([][]int, e.Rows), make([][]int, e.Rows)
	none := 0
	for i := range e.Rows {
		for j := range e.Rows {
			if i == j {
				continue
			}
			switch relate(i, j) {
			case Positive:
				r.pos[i] = append(r.pos[i], j)
			case Negative:
				r.neg[i] = append(r.neg[i], j)
			}
		}
		if len(r.pos[i]) == 0 {
			none++
		}
	}
	if want := r.value(o.Loss); math.Abs(got.Value-want) > 1e-5*want || got.NoPositive != none {
		t.Errorf("value %v with %d anchors without a positive, want %v and %d", got.Value, got.NoPositive, want, none)
	}
}

// A seed fixes every bit, whatever the number of cores, and continues from a
// saved state.
func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	run := func(procs int) (out []float32) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, name := range LossNames() {
			for _, n := range []string{"facenet", "distance", "all"} {
				o, err := objectiveFor(name, map[string]any{"normalize": true})
				if err != nil {
					t.Fatal(err)
				}
				if n != "all" {
					o.Mine.Negatives = 0
					o.Mine.Negatives, _ = ParseNegativePolicy(n)
				}
				o.Classes, o.Dim = 13, 20
				obj, err := New(o)
				if err != nil {
					continue // not this loss with that policy
				}
				for s := range 2 {
					e, labels := gaussian(150, 20, 13, uint64(s))
					grad := matrix.New(150, 20)
					r, err := obj.Step(context.Background(), e, batchFor(o.Loss, labels), grad)
					if err != nil {
						t.Fatal(err)
					}
					out = append(append(out, float32(r.Value)), grad.Data...)
					for _, p := range obj.Params() {
						out = append(out, p.Grad...)
					}
				}
			}
		}
		return out
	}
	one := run(1)
	for _, procs := range []int{2, 5} {
		if !slices.Equal(one, run(procs)) {
			t.Errorf("%d cores give other bits than one", procs)
		}
	}
}

func TestStateContinuesDraws(t *testing.T) {
	o := mustParse(t, "positives", "random", "negatives", "distance", "normalize", true)
	e, labels := gaussian(60, 8, 6, 1)
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	var state State
	for k := range 4 {
		if k == 2 {
			state = a.State()
		}
		r, _ := a.Step(context.Background(), e, Batch{Labels: labels}, nil)
		values = append(values, r.Value)
	}
	b, _ := New(o)
	if err := b.Restore(state); err != nil {
		t.Fatal(err)
	}
	for k := 2; k < 4; k++ {
		if r, _ := b.Step(context.Background(), e, Batch{Labels: labels}, nil); r.Value != values[k] {
			t.Errorf("step %d after restoring: %v, want %v", k, r.Value, values[k])
		}
	}
	if values[0] == values[1] {
		t.Error("two steps drew the same")
	}
}

// After the first step of a size nothing is allocated.
func TestStepsDoNotAllocate(t *testing.T) {
	e, labels := gaussian(200, 16, 10, 1)
	grad := matrix.New(200, 16)
	for _, name := range LossNames() {
		o, err := objectiveFor(name, map[string]any{"normalize": true})
		if err != nil {
			t.Fatal(err)
		}
		o.Classes, o.Dim = 10, 16
		obj, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		b := batchFor(o.Loss, labels)
		run := func() {
			if _, err := obj.Step(context.Background(), e, b, grad); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 { // both cores' working memory
			run()
		}
		// AllocsPerRun works on one core, which may meet working memory that the
		// other one took and never filled: fill that before counting, too.
		testing.AllocsPerRun(5, run)
		if n := testing.AllocsPerRun(5, run); n > 0 {
			t.Errorf("%s: %v allocations a step", name, n)
		}
	}
}

// Batches above MatrixRows go block by block to the same result.
func TestBlocksAgreeWithTheWholeMatrix(t *testing.T) {
	e, labels := gaussian(300, 12, 20, 4)
	for _, name := range LossNames() {
		o, err := objectiveFor(name, map[string]any{"normalize": true})
		if err != nil {
			t.Fatal(err)
		}
		o.Classes, o.Dim = 20, 12
		whole, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		o, _ = objectiveFor(name, map[string]any{"normalize": true})
		o.Classes, o.Dim = 20, 12
		blocks, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		blocks.terms[0].maxSimilarities = 64 * 300
		g1, g2 := matrix.New(300, 12), matrix.New(300, 12)
		r1, err1 := whole.Step(context.Background(), e, batchFor(o.Loss, labels), g1)
		r2, err2 := blocks.Step(context.Background(), e, batchFor(o.Loss, labels), g2)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		var scale float64
		for _, g := range g1.Data {
			scale = math.Max(scale, math.Abs(float64(g)))
		}
		if math.Abs(r1.Value-r2.Value) > 1e-5*math.Abs(r1.Value) {
			t.Errorf("%s: %v whole, %v in blocks", name, r1.Value, r2.Value)
		}
		for k, g := range g1.Data {
			if math.Abs(float64(g-g2.Data[k])) > 1e-4*scale {
				t.Errorf("%s: gradient %d is %v whole, %v in blocks", name, k, g, g2.Data[k])
				break
			}
		}
	}
}

func TestGivenTriplets(t *testing.T) {
	e, _ := gaussian(20, 4, 2, 8)
	rng := rand.New(rand.NewPCG(1, 1))
	var triplets [][3]int32
	for range 50 {
		others := rng.Perm(20)
		triplets = append(triplets, [3]int32{int32(others[0]), int32(others[1]), int32(others[2])})
	}
	obj, err := New(mustParse(t, "margin", 0.7))
	if err != nil {
		t.Fatal(err)
	}
	got, err := obj.StepTriplets(context.Background(), e, nil, triplets, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{x: toRows(e)}
	r.prepare()
	var s sum
	for _, q := range triplets {
		s.add(hinge(r.D2(int(q[0]), int(q[1])) - r.D2(int(q[0]), int(q[2])) + 0.7))
	}
	if want := s.reduce(loss.Mean); math.Abs(got.Value-want) > 1e-5*want || got.Tuples != 50 || got.Active != s.active {
		t.Errorf("%+v, want %v of %d active", got, want, s.active)
	}
	if _, err := obj.StepTriplets(context.Background(), e, nil, [][3]int32{{0, 1, 20}}, nil); err == nil {
		t.Error("an index out of range was accepted")
	}
	ids := make([]int64, 20)
	for i := range ids {
		ids[i] = int64(i)
	}
	ids[7] = ids[3]
	for _, q := range [][3]int32{{4, 4, 1}, {4, 1, 4}, {3, 7, 1}, {7, 1, 3}} {
		if _, err := obj.StepTriplets(context.Background(), e, ids, [][3]int32{{0, 1, 2}, q}, nil); err == nil ||
			!strings.Contains(err.Error(), "triplet 1") {
			t.Errorf("triplet %v of a sample with itself: %v", q, err)
		}
	}
	if obj, _ = New(mustParse(t, "loss", "contrastive")); obj == nil {
		t.Fatal("no objective")
	}
	if _, err := obj.StepTriplets(context.Background(), e, nil, triplets, nil); err == nil {
		t.Error("a loss over pairs took triplets")
	}
}
