package objective

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/soak"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// ranges are what options of losses are drawn from: those that a loss does not have are
// left out, those that mean something else to one have that loss before them.
var ranges = map[string][2]float64{
	"margin": {0, 1}, "temperature": {0.05, 1}, "rank_temperature": {0.5, 2}, "degrees": {20, 60}, "slack": {0, 0.3},
	"imbalance": {0.1, 0.9}, "pos_weight": {0, 5}, "neg_weight": {0, 20}, "pos_epsilon": {0, 0.1},
	"neg_epsilon": {0, 0.1}, "lambda": {0, 1}, "delta": {0, 0.3}, "la": {5, 30}, "gamma": {5, 80}, "scale": {5, 40},
	"alpha": {0.8, 1.5}, "multisimilarity.alpha": {1, 5}, "proxy-anchor.alpha": {8, 40},
	"multisimilarity.beta": {10, 60}, "margin.beta": {0.5, 1.4}, "softtriple.gamma": {5, 20}, "vicreg.gamma": {0.2, 1},
	"vicreg.lambda": {0, 30}, "mu": {0, 30}, "nu": {0, 2}, "bins": {5, 60}, "centers": {1, 4}, "k": {1, 8},
}

// counts are the options that are whole numbers.
var counts = []string{"bins", "centers", "k"}

// drawOptions draws options of a loss, each with an even chance.
func drawOptions(name string, rng *rand.Rand) map[string]any {
	set := map[string]any{"normalize": rng.IntN(4) > 0}
	try := func(key string, v any) {
		if _, err := ParseFlat(map[string]any{"loss": name, key: v}); err == nil {
			set[key] = v
		}
	}
	keys := make([]string, 0, len(ranges))
	for key := range ranges {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		r := ranges[key]
		if own, ok := ranges[name+"."+key]; ok {
			r = own
		}
		v := r[0] + rng.Float64()*(r[1]-r[0])
		switch {
		case rng.IntN(2) == 0:
		case slices.Contains(counts, key):
			try(key, int(v))
		default:
			try(key, v)
		}
	}
	try("distance", []string{"euclidean", "squared"}[rng.IntN(2)])
	try("reduce", []string{"mean", "mean-active", "sum"}[rng.IntN(3)])
	if p, n := PositivePolicyNames(), NegativePolicyNames(); rng.IntN(3) == 0 {
		p, n := p[rng.IntN(len(p))], n[rng.IntN(len(n))]
		if _, err := objectiveFor(name, map[string]any{"positives": p, "negatives": n}); err == nil {
			set["positives"], set["negatives"] = p, n
		}
	}
	return set
}

// drawBatch draws a batch of any shape, in which classes may be alone, samples come
// twice, and rows are of any length, in at least so many dimensions.
func drawBatch(rng *rand.Rand, classes, least int) batch {
	n, d := 2+rng.IntN(70), least+rng.IntN(40)
	e, _ := gaussian(n, d, classes, rng.Uint64())
	b := batch{e: e, labels: make([]int64, n)}
	length := float32(math.Pow(10, 2*rng.Float64()-1))
	for i := range n {
		b.labels[i] = int64(rng.IntN(classes))
		e.Row(i)[int(b.labels[i])%d] += 2 * rng.Float32()
		for k := range e.Row(i) {
			e.Row(i)[k] *= length
		}
	}
	if rng.IntN(3) == 0 { // a sample has one label
		b.ids = make([]int64, n)
		for i := range n {
			b.ids[i] = b.labels[i]*100 + int64(rng.IntN(n))
		}
	}
	return b
}

// TestSoak compares every loss, on any batch and with any options, with its definition in
// float64: its value, and its derivative in a direction with the differences of the
// definition. A second step gives the same bits.
func TestSoak(t *testing.T) {
	soak.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 12))
		for _, name := range LossNames() {
			classes := 2 + rng.IntN(9)
			set := drawOptions(name, rng)
			least := 2
			switch name {
			case "decorrelate": // parts of one number, of unit length, have no derivative
				least = 8
			case "tuplet-margin": // in a plane many angles are next to 0, where the derivative has its pole
				least = 8
			}
			b := drawBatch(rng, classes, least)
			o, err := objectiveFor(name, set)
			if err != nil {
				t.Fatalf("%s %v: %v", name, set, err)
			}
			b.identify(o.Loss)
			o.Classes, o.Dim, o.Seed, o.Mine.Seed = classes, b.e.Cols, seed, seed
			place := fmt.Sprintf("%s %v, %d x %d of %d classes", name, set, b.e.Rows, b.e.Cols, classes)
			// How many terms are active rests on rounding where they are next to nothing: what
			// is divided by it is compared as a sum.
			whole, sums := o.Loss, o.Loss.Traits().Reduction == loss.MeanActive
			sums = sums && name != "vicreg" // which divides a part of itself
			if sums {
				set["reduce"] = "sum"
				other, err := objectiveFor(name, set)
				if err != nil {
					t.Fatal(err)
				}
				whole = other.Loss
			}
			grad := matrix.New(b.e.Rows, b.e.Cols)
			var obj *Objective
			var value [2]float64
			active := 1
			for k := range value {
				if obj, err = New(o); err != nil {
					break // options that do not go together
				}
				again := matrix.New(b.e.Rows, b.e.Cols)
				res, err := obj.Step(context.Background(), b.e, Batch{Labels: b.labels, IDs: b.ids}, again)
				if err != nil {
					t.Fatalf("%s: %v", place, err)
				}
				if value[k] = res.Value; k > 0 && (value[1] != value[0] || !slices.Equal(again.Data, grad.Data)) {
					t.Errorf("%s: another step gives %v for %v", place, value[1], value[0])
				}
				grad = again
				if sums {
					active = max(1, res.Active)
				}
			}
			if err != nil {
				continue
			}
			for k := range grad.Data {
				grad.Data[k] *= float32(active)
			}
			atDefinition(t, place, newReference(o, obj, b), whole, value[0]*float64(active), grad, rng)
		}
	})
}

// atDefinition compares a value and gradient with the definition.
func atDefinition(t *testing.T, place string, r *reference, l loss.Loss, got float64, grad *matrix.Dense,
	rng *rand.Rand) {
	t.Helper()
	want := r.value(l)
	if _, ok := l.(loss.SNRContrastive); ok && want > 1e3 {
		return // of an anchor with next to no variance, by which it divides
	}
	if off := math.Abs(got - want); off > 3e-5*math.Abs(want)+2e-6 {
		if open := r.open(l, want, rng); off > 3e-5*math.Abs(want)+2e-6+16*open {
			t.Errorf("%s: value %.9g, by definition %.9g; float32 leaves %.3g open", place, got, want, open)
		}
		return // the derivative is open, too
	}
	d, size, norm := grad.Cols, 0.0, 0.0
	for _, row := range r.x {
		size = max(size, math.Sqrt(dot64(row, row)))
	}
	for _, g := range grad.Data {
		norm += float64(g) * float64(g)
	}
	// A direction in which a hinge or a bin's edge is crossed tells nothing; another may.
	for range 4 {
		dir := make([]float64, len(grad.Data))
		along := 0.0
		for k := range dir {
			dir[k] = rng.NormFloat64()
			along += dir[k] * float64(grad.Data[k])
		}
		h := 1e-7 * size
		shifted := func(by float64) float64 {
			old := r.x
			r.x = make([][]float64, len(old))
			for i, row := range old {
				r.x[i] = slices.Clone(row)
				for k := range row {
					r.x[i][k] += by * dir[i*d+k]
				}
			}
			defer func() { r.x = old }()
			return r.value(l)
		}
		up, down := shifted(h), shifted(-h)
		slope := (up - down) / (2 * h)
		if math.Abs((up-want)-(want-down)) > 1e-3*math.Abs(up-down)+1e-12*math.Abs(want) {
			continue
		}
		// What float64 leaves of the difference of two values.
		rounding := 1e-14 * math.Abs(want) / h
		if math.Abs(along-slope) > 3e-3*math.Abs(slope)+3e-3*math.Sqrt(norm)+rounding+1e-6/size {
			t.Errorf("%s: derivative %.7g, by differences %.7g (gradient %.3g long)", place, along, slope,
				math.Sqrt(norm))
		}
		return
	}
}

// open is how far the definition moves where rows are moved by what float32 leaves open of
// the longest: much, where the value is a small difference of large ones. Products of rows,
// which distances come from, round at each of their steps: of 2,328 seeds five came to 4 to
// 6 times as much.
func (r *reference) open(l loss.Loss, want float64, rng *rand.Rand) (most float64) {
	size := 0.0
	for _, row := range r.x {
		size = max(size, math.Sqrt(dot64(row, row)))
	}
	old := r.x
	defer func() { r.x = old }()
	for range 8 {
		r.x = make([][]float64, len(old))
		for i, row := range old {
			r.x[i] = slices.Clone(row)
			for k := range row {
				r.x[i][k] += 0x1p-23 * size * rng.NormFloat64()
			}
		}
		most = max(most, math.Abs(r.value(l)-want))
	}
	return most
}
