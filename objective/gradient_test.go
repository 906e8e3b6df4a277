package objective

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// batch is a named set of embeddings with labels from 0 up.
type batch struct {
	name   string
	e      *matrix.Dense
	labels []int64
	ids    []int64 // identities, nil for samples that differ
	smooth bool    // losses are differentiable here
}

// identify gives a loss between views the identities that it asks for, if there are
// none: two rows of a class are views of one sample.
func (b *batch) identify(l loss.Loss) {
	if l.Traits().Views && b.ids == nil {
		b.ids = inPairs(b.labels)
	}
}

const twoLabels = "one sample under two labels"

func batches() []batch {
	ordinary := func(n, d, classes int, seed uint64) (*matrix.Dense, []int64) {
		e, labels := gaussian(n, d, classes, seed)
		for i := range n { // classes overlap but are not all one cloud
			e.Row(i)[int(labels[i])%d] += 0.8
		}
		return e, labels
	}
	scaled := func(by float32) *matrix.Dense {
		e, _ := ordinary(9, 4, 3, 8)
		for k := range e.Data {
			e.Data[k] *= by
		}
		return e
	}
	_, nine := ordinary(9, 4, 3, 8)
	var out []batch
	add := func(name string, e *matrix.Dense, labels []int64, smooth bool) {
		out = append(out, batch{name: name, e: e, labels: labels, smooth: smooth})
	}
	e, y := ordinary(14, 5, 4, 3)
	add("ordinary", e, y, true)
	e, _ = ordinary(8, 6, 3, 4)
	add("singletons", e, []int64{0, 1, 2, 3, 3, 4, 5, 3}, true)
	e, y = ordinary(13, 5, 3, 12) // the same samples seen twice, as two crops are
	add("repeated samples", e, y, true)
	out[len(out)-1].ids = []int64{7, -1, 3, 7, 5, 3, 7, 8, 9, 10, 11, 3, 12}
	e, y = ordinary(12, 4, 3, 13) // under one label and under two
	add(twoLabels, e, y, true)
	out[len(out)-1].ids = []int64{0, 1, 2, 1, 4, 5, 0, 7, 8, 4, 10, 8}
	e, _ = ordinary(6, 3, 2, 5)
	add("one class", e, make([]int64, 6), true)
	e, _ = ordinary(5, 3, 2, 6)
	add("no positives", e, []int64{0, 1, 2, 3, 4}, true)
	e, y = ordinary(12, 4, 3, 7)
	for i := range 6 { // of the same class, of another, and all the same
		copy(e.Row(2*i+1), e.Row(i/2))
	}
	add("duplicates", e, y, false)
	e, y = ordinary(8, 4, 2, 7)
	for i := range 8 {
		copy(e.Row(i), e.Row(0))
	}
	add("collapsed", e, y, false)
	e, _ = ordinary(1, 4, 1, 9)
	add("one sample", e, []int64{0}, true)
	e, y = ordinary(8, 1, 2, 10)
	add("one dimension", e, y, false)
	add("tiny", scaled(1e-18), nine, true)
	add("denormal", scaled(1e-42), nine, false)
	add("large", scaled(1e6), nine, true)
	add("vast", scaled(1e30), nine, false)
	e, y = ordinary(7, 3, 2, 11)
	clear(e.Row(2))
	add("a zero row", e, y, false)
	return out
}

// objectiveFor is a loss by name with its customary mining where that is not random, and
// else with easy positives and hard negatives.
func objectiveFor(name string, set map[string]any) (Options, error) {
	flat := map[string]any{"loss": name}
	if c, _ := DefaultMining(name); c.Negatives == FaceNetNegative || c.Negatives == DistanceNegative {
		flat["positives"], flat["negatives"] = "easy", "hard"
	}
	if name == "decorrelate" {
		flat["hidden"] = 7 // enough, and few enough to move each weight
	}
	for k, v := range set {
		flat[k] = v
	}
	return ParseFlat(flat)
}

func newReference(o Options, obj *Objective, b batch) *reference {
	r := &reference{x: toRows(b.e), labels: b.labels, unit: o.Normalize, perC: 1}
	traits := o.Loss.Traits()
	if traits.Proxies > 0 {
		param := obj.Params()[0]
		r.proxies = toRows(matrix.FromSlice(param.Shape[0], param.Shape[1], param.Value))
		r.perC = traits.Proxies
	} else if _, ok := o.Loss.(*loss.Margin); ok {
		for _, v := range obj.Params()[0].Value {
			r.betas = append(r.betas, float64(v))
		}
	}
	if _, ok := o.Loss.(*loss.Decorrelate); ok {
		for _, p := range obj.Params() {
			r.layers = append(r.layers, toRows(matrix.FromSlice(1, len(p.Value), p.Value))[0])
		}
	}
	if _, ok := o.Loss.(loss.Running); ok {
		params := obj.Params()
		for _, v := range params[len(params)-1].Value {
			r.running = append(r.running, float64(v))
		}
	}
	r.choose(b.e, b.ids, o.Mine, o.Loss, 0)
	return r
}

// TestGradients compares value and gradient of every loss, normalised or not,
// with every reduction, with finite differences of the definition in double
// precision, on ordinary and degenerate batches; and asks for finite numbers on
// all.
func TestGradients(t *testing.T) {
	for _, name := range LossNames() {
		for _, variant := range []map[string]any{
			{"normalize": true}, {"normalize": false},
			{"normalize": true, "reduce": "mean-active"}, {"normalize": true, "reduce": "sum"},
			{"normalize": true, "distance": "euclidean"}, {"normalize": true, "distance": "squared"},
		} {
			if (name == "intra-pair-variance" || name == "decorrelate") && variant["reduce"] != nil {
				continue // it has one reduction
			}
			for k, b := range batches() {
				if testing.Short() && k > 2 {
					break
				}
				t.Run(fmt.Sprintf("%s/%v/%s", name, variant, b.name), func(t *testing.T) {
					checkGradient(t, name, variant, b)
				})
			}
		}
	}
}

// checkGradient compares an objective's value and gradient with the reference and
// its finite differences.
//
// Long: the exceptions of single losses stand where they apply.
func checkGradient(t *testing.T, name string, variant map[string]any, b batch) {
	o, err := objectiveFor(name, variant)
	if err != nil {
		t.Fatal(err)
	}
	o.Classes, o.Dim, o.Seed = 6, b.e.Cols, 5
	b.identify(o.Loss)
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	grad := matrix.New(b.e.Rows, b.e.Cols)
	res, err := obj.Step(context.Background(), b.e, Batch{Labels: b.labels, IDs: b.ids}, grad)
	if b.name == "vast" && !o.Normalize {
		if err == nil {
			t.Fatal("embeddings too large to compare gave no error")
		}
		return
	}
	if o.Loss.Traits().CrossRows && b.name == twoLabels {
		if err == nil {
			t.Fatal("anchors whose negatives differ from their positives' gave no error")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	finite := func(what string, x []float32) {
		for k, v := range x {
			if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
				t.Fatalf("%s %d is %v", what, k, v)
			}
		}
	}
	finite("gradient", grad.Data)
	for _, p := range obj.Params() {
		finite(p.Name+" gradient", p.Grad)
	}
	if !b.smooth || b.name == "large" && !o.Normalize || b.name == "tiny" && !o.Normalize {
		return
	}
	r := newReference(o, obj, b)
	want := r.value(o.Loss)
	if math.Abs(res.Value-want) > 2e-5*math.Abs(want)+1e-6 {
		t.Fatalf("value %.9g, by definition %.9g", res.Value, want)
	}
	size := 0.0 // of the embeddings, to choose steps and tolerances
	for _, row := range r.x {
		size = math.Max(size, math.Sqrt(dot64(row, row)))
	}
	compare := func(what string, at func(k int) *float64, got []float32, size float64) {
		scale := 0.0
		for _, g := range got {
			scale = math.Max(scale, math.Abs(float64(g)))
		}
		kinks := 0
		for k, g := range got {
			p := at(k)
			old, h := *p, 1e-6*size
			*p = old + h
			up := r.value(o.Loss)
			*p = old - h
			down := r.value(o.Loss)
			*p = old
			slope := (up - down) / (2 * h)
			if math.Abs((up-want)-(want-down)) > 1e-3*math.Abs(up-down)+1e-10*math.Abs(want) {
				kinks++ // a hinge or a bin's edge is crossed
				continue
			}
			if diff := math.Abs(float64(g) - slope); diff > 2e-3*math.Abs(slope)+3e-4*scale+1e-6/size {
				t.Errorf("%s %d is %.6g, by differences %.6g (largest %.3g)", what, k, g, slope, scale)
			}
		}
		if kinks > len(got)/4+1 {
			t.Errorf("%s: %d of %d differences cross a kink: nothing was checked", what, kinks, len(got))
		}
	}
	d := b.e.Cols
	compare("gradient", func(k int) *float64 { return &r.x[k/d][k%d] }, grad.Data, size)
	for k, p := range obj.Params() {
		if r.layers != nil { // they go up the gradient
			var down []float32
			for _, g := range p.Grad {
				down = append(down, -g)
			}
			compare(p.Name, func(i int) *float64 { return &r.layers[k][i] }, down, 1)
			continue
		}
		switch p.Name {
		case "beta":
			compare("beta", func(k int) *float64 { return &r.betas[k] }, p.Grad, 1)
		case "proxies":
			compare("proxies", func(k int) *float64 { return &r.proxies[k/d][k%d] }, p.Grad, 1)
		default: // what a loss keeps of the batches
			if slices.ContainsFunc(p.Grad, func(g float32) bool { return g != 0 }) {
				t.Errorf("%s has the gradient %v", p.Name, p.Grad)
			}
		}
	}
}

// TestPolicies runs every positive policy with every negative policy and every
// loss that takes them, on all batches, against the definition's value on the
// tuples the policies chose.
func TestPolicies(t *testing.T) {
	names := slices.DeleteFunc(LossNames(), func(n string) bool {
		o, _ := objectiveFor(n, nil)
		traits := o.Loss.Traits()
		return traits.AllPairs || traits.Proxies > 0
	})
	for _, name := range names {
		for _, p := range PositivePolicyNames() {
			for _, n := range NegativePolicyNames() {
				if excluding(p, n) {
					continue
				}
				for k, b := range batches() {
					if testing.Short() && k > 2 {
						break
					}
					o, err := objectiveFor(name, map[string]any{"positives": p, "negatives": n, "normalize": true})
					if err != nil {
						t.Fatal(err)
					}
					o.Classes, o.Dim, o.Mine.Seed = 6, b.e.Cols, 3
					b.identify(o.Loss)
					obj, err := New(o)
					if err != nil {
						t.Fatal(err)
					}
					grad := matrix.New(b.e.Rows, b.e.Cols)
					res, err := obj.Step(context.Background(), b.e, Batch{Labels: b.labels, IDs: b.ids}, grad)
					if err != nil {
						t.Fatal(err)
					}
					for k, v := range grad.Data {
						if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
							t.Fatalf("%s %s %s on %s: gradient %d is %v", name, p, n, b.name, k, v)
						}
					}
					if b.name == "denormal" || b.name == "collapsed" || b.name == "duplicates" {
						continue // what is chosen among equals rests on rounding
					}
					want := newReference(o, obj, b).value(o.Loss)
					if math.Abs(res.Value-want) > 3e-5*math.Abs(want)+2e-6 {
						t.Errorf("%s %s %s on %s: value %.8g, by definition %.8g", name, p, n, b.name, res.Value, want)
					}
				}
			}
		}
	}
}

// TestPolicyGradients compares the gradient through every two policies, of all distances
// and of some, with finite differences: what is chosen stays, and the loss of it is differentiable.
func TestPolicyGradients(t *testing.T) {
	for _, name := range []string{"triplet", "contrastive"} {
		for _, p := range PositivePolicyNames() {
			for _, n := range NegativePolicyNames() {
				for _, b := range batches()[:3] {
					if excluding(p, n) {
						continue
					}
					variant := map[string]any{"positives": p, "negatives": n, "normalize": true, "margin": 1.5}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", name, p, n, b.name), func(t *testing.T) {
						checkGradient(t, name, variant, b)
						variant["positives_from"], variant["positives_to"] = 0.5, 1.5
						variant["negatives_from"], variant["negatives_to"] = 0.7, 1.8
						checkGradient(t, name, variant, b)
					})
				}
			}
		}
	}
}

// TestRandomBatches repeats the comparison on batches of random shape, large
// enough for the vector kernels and both ways to add up gradients.
func TestRandomBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, name := range LossNames() {
		for range 3 {
			n, d, classes := 33+rng.IntN(60), 2+rng.IntN(20), 2+rng.IntN(9)
			e, _ := gaussian(n, d, classes, rng.Uint64())
			labels := make([]int64, n)
			for i := range labels {
				labels[i] = int64(rng.IntN(classes))
			}
			o, err := objectiveFor(name, map[string]any{"normalize": true})
			if err != nil {
				t.Fatal(err)
			}
			o.Classes, o.Dim = classes, d
			obj, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			grad := matrix.New(n, d)
			b := batch{e: e, labels: labels}
			b.identify(o.Loss)
			res, err := obj.Step(context.Background(), e, Batch{Labels: labels, IDs: b.ids}, grad)
			if err != nil {
				t.Fatal(err)
			}
			r := newReference(o, obj, b)
			want := r.value(o.Loss)
			if math.Abs(res.Value-want) > 2e-5*math.Abs(want)+1e-6 {
				t.Errorf("%s: value %.9g, by definition %.9g", name, res.Value, want)
			}
			// One direction tells the whole gradient.
			dir := make([]float64, n*d)
			var along, norm float64
			for k := range dir {
				dir[k] = rng.NormFloat64()
				along += dir[k] * float64(grad.Data[k])
				norm += float64(grad.Data[k]) * float64(grad.Data[k])
			}
			const h = 1e-6
			shift := func(by float64) float64 {
				for k, v := range dir {
					r.x[k/d][k%d] += by * v
				}
				return r.value(o.Loss)
			}
			up := shift(h)
			down := shift(-2 * h)
			slope := (up - down) / (2 * h)
			if math.Abs(along-slope) > 3e-3*math.Abs(slope)+2e-3*math.Sqrt(norm)+1e-6 {
				t.Errorf("%s n %d d %d: derivative %.7g, by differences %.7g", name, n, d, along, slope)
			}
		}
	}
}
