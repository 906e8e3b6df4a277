package objective

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// TestParts: a loss of a part is that loss on these numbers alone, divided by their
// norm, and losses of several parts leave each its own gradient.
func TestParts(t *testing.T) {
	e, labels := gaussian(20, 12, 4, 3)
	step := func(x *matrix.Dense, o Options) (Result, *matrix.Dense) {
		t.Helper()
		obj, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		grad := matrix.New(x.Rows, x.Cols)
		for k := range grad.Data {
			grad.Data[k] = 9 // to be replaced
		}
		r, err := obj.Step(context.Background(), x, Batch{Labels: labels}, grad)
		if err != nil {
			t.Fatal(err)
		}
		return r, grad
	}
	parts := []Part{{K: 1, N: 2}, {K: 3, N: 4}, {K: 4, N: 4}, {First: 8}}
	from, weight := []int{0, 6, 9, 0}, []float64{1, 0.5, 2, 1.5}
	options := func(k int) Options {
		o := Options{Loss: loss.SupCon{}, Mine: MiningConfig{Positives: AllPositives, Negatives: AllNegatives},
			Dim: 12, Classes: 4}
		if k == 2 { // whose proxies have a part's dimension
			o.Loss = &loss.ProxyNCA{}
		}
		return o
	}
	all := options(0)
	all.Part = parts[0]
	want, value := matrix.New(20, 12), 0.0
	for k, p := range parts {
		alone := matrix.New(20, p.numDims(12))
		for i := range 20 {
			copy(alone.Row(i), e.Row(i)[from[k]:])
		}
		o := options(k)
		o.Dim, o.Normalize = alone.Cols, true
		r, g := step(alone, o)
		value += weight[k] * r.Value
		for i := range 20 {
			for j, v := range g.Row(i) {
				want.Row(i)[from[k]+j] += float32(weight[k]) * v
			}
		}
		if k > 0 {
			o := options(k)
			o.Part = p
			all.Plus = append(all.Plus, Weighted{weight[k], o})
		}
	}
	r, got := step(e, all)
	if math.Abs(r.Value-value) > 1e-6 {
		t.Errorf("value %v, of the parts alone %v", r.Value, value)
	}
	for k, v := range got.Data {
		if math.Abs(float64(v-want.Data[k])) > 1e-6 {
			t.Fatalf("gradient %d is %v, of the parts alone %v", k, v, want.Data[k])
		}
	}
	// What no loss sees has no gradient.
	one := options(0)
	one.Part = Part{K: 2, N: 4}
	_, got = step(e, one)
	for i := range 20 {
		row := got.Row(i)
		if slices.Max(row[3:6]) == 0 || slices.ContainsFunc(slices.Concat(row[:3], row[6:]),
			func(g float32) bool { return g != 0 }) {
			t.Fatalf("row %d: %v", i, row)
		}
	}
}

// TestPartMistakes: parts that an embedding does not have.
func TestPartMistakes(t *testing.T) {
	for want, part := range map[string]string{
		"such as 3/4": "half", "0/4: there are parts 1/4 to 4/4": "0/4", "5/4: there are": "5/4", "-1/-1": "-1/-1",
		"1/0: there": "1/0", "no part of an embedding": "1/2/3",
	} {
		if _, err := ParseFlat(map[string]any{"part": part}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", part, err, want)
		}
	}
	o, err := ParseFlat(map[string]any{"part": "2/3"})
	if err != nil || o.Part != (Part{K: 2, N: 3}) {
		t.Fatal(o.Part, err)
	}
	o.Dim = 8
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "network.dim") {
		t.Errorf("a third of 8 numbers: %v", err)
	}
	o.Dim = 0 // not told
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e, labels := gaussian(6, 8, 2, 1)
	if _, err := obj.Step(context.Background(), e, Batch{Labels: labels}, nil); err == nil {
		t.Error("a third of 8 numbers in a step: no error")
	}
	for _, parts := range [][]int{{2, 1}, {8}, {9, -1}, {0, 8}, {1 << 62, 1 << 62, 1 << 62, 1 << 62}, {}} {
		l := &loss.Decorrelate{Parts: parts}
		if err := l.Learn(0, 8, 1); err == nil || !strings.Contains(err.Error(), "network.dim") {
			t.Errorf("parts %v of 8: %v", parts, err)
		}
	}
	for want, v := range map[string]any{"not a list": 3, "whole numbers": []any{2, "x"}, "above 0": []any{2, 0}} {
		_, err := ParseFlat(map[string]any{"loss": "decorrelate", "parts": v})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parts %v: %v does not say %q", v, err, want)
		}
	}
}

// TestNested checks that nested lengths are the same loss on the first numbers, each with
// parameters of its own, and that the length of the whole embedding adds nothing.
func TestNested(t *testing.T) {
	e, labels := gaussian(20, 12, 4, 3)
	for _, name := range []string{"triplet", "proxynca", "multisimilarity", "arcface"} {
		value := func(flat map[string]any, x *matrix.Dense) float64 {
			t.Helper()
			o, err := ParseFlat(flat)
			if err != nil {
				t.Fatal(err)
			}
			o.Dim, o.Classes, o.Seed = x.Cols, 4, 7
			obj, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			r, err := obj.Step(context.Background(), x, Batch{Labels: labels}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r.Value
		}
		want := 0.0
		for _, n := range []int{3, 8, 12} {
			x := matrix.New(20, n)
			for i := range 20 {
				copy(x.Row(i), e.Row(i))
			}
			flat := map[string]any{"loss": name, "normalize": n < 12}
			want += value(flat, x)
		}
		got := value(map[string]any{"loss": name, "nested": []any{3, 8, 12}}, e)
		if math.Abs(got-want) > 1e-5*want {
			t.Errorf("%s: %v, of the lengths alone %v", name, got, want)
		}
	}
	for want, flat := range map[string]map[string]any{
		"leave part out":        {"nested": []any{2}, "part": "1/2"},
		"2 stands there twice":  {"nested": []any{2, 4, 2}},
		"not a list":            {"nested": 4},
		"whole numbers above 0": {"nested": []any{4, 0}},
	} {
		if _, err := ParseFlat(flat); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v does not say %q", flat, err, want)
		}
	}
	o, err := ParseFlat(map[string]any{"nested": []any{13}})
	if err != nil {
		t.Fatal(err)
	}
	o.Dim = 12
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "first 13 numbers of an embedding of 12") {
		t.Errorf("more than there are: %v", err)
	}
}

// TestDrawnTriplets: every anchor has a triplet of three classes, or of one, wherever
// there is one, and never of one sample twice; all that fit come up.
func TestDrawnTriplets(t *testing.T) {
	b := Batch{Labels: []int64{1, 1, 1, 1, 2, 2, 3, 3, 3, 4}, IDs: []int64{0, 0, 1, 2, 3, 4, 5, 6, 7, 8}}
	var d tripletSampler
	seen := map[[3]int32]bool{}
	for step := range uint64(2000) {
		for _, rule := range []TripletRule{SharedTriplets, IntraTriplets} {
			anchors := 0
			for _, x := range d.sample(rule, b, 5, step) {
				anchors++
				ya, yp, yn := b.Labels[x[0]], b.Labels[x[1]], b.Labels[x[2]]
				ia, ip, in := b.IDs[x[0]], b.IDs[x[1]], b.IDs[x[2]]
				if ia == ip || ia == in || ip == in {
					t.Fatalf("%v: one sample twice", x)
				}
				if rule == IntraTriplets && (ya != yp || ya != yn) || rule == SharedTriplets && (ya == yp || ya == yn ||
					yp == yn) {
					t.Fatalf("%v %v: labels %d %d %d", rule, x, ya, yp, yn)
				}
				if rule == IntraTriplets {
					seen[x] = true
				}
			}
			// Three samples of class 1 (four rows) and three of class 3 make triplets of one.
			if want := map[TripletRule]int{SharedTriplets: 10, IntraTriplets: 7}[rule]; anchors != want {
				t.Fatalf("%v: %d anchors, want %d", rule, anchors, want)
			}
		}
	}
	// Class 1: anchors 0 and 1 with 2 orders of samples 1 and 2 each; anchors 2 and 3
	// with either row of sample 0 and the other sample in 2 orders. Class 3: 3 x 2.
	if want := 2*2 + 2*2*2 + 3*2; len(seen) != want {
		t.Errorf("%d triplets of one class came up, want %d: %v", len(seen), want, seen)
	}
	first := slices.Clone(d.sample(SharedTriplets, b, 5, 7))
	if !slices.Equal(first, d.sample(SharedTriplets, b, 5, 7)) ||
		slices.Equal(first, d.sample(SharedTriplets, b, 5, 8)) ||
		slices.Equal(first, d.sample(SharedTriplets, b, 6, 7)) {
		t.Error("triplets must follow from seed and step")
	}
	for _, labels := range [][]int64{{}, {1}, {1, 1}, {1, 2}, {1, 1, 2, 2}} {
		for _, rule := range []TripletRule{SharedTriplets, IntraTriplets} {
			if got := d.sample(rule, Batch{Labels: labels}, 1, 1); got == nil || len(got) > 0 {
				t.Errorf("%v of %v: %v", rule, labels, got)
			}
		}
	}
}

// TestDrawnStep: a loss over drawn triplets is StepTriplets on them, and what cannot
// go with them is an error.
func TestDrawnStep(t *testing.T) {
	e, labels := gaussian(15, 6, 3, 2)
	o, err := ParseFlat(map[string]any{"loss": "triplet", "triplets": "shared", "normalize": true})
	if err != nil {
		t.Fatal(err)
	}
	o.Mine.Seed = 4
	obj, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	g1, g2 := matrix.New(15, 6), matrix.New(15, 6)
	got, err := obj.Step(context.Background(), e, Batch{Labels: labels}, g1)
	if err != nil {
		t.Fatal(err)
	}
	var d tripletSampler
	o.Triplets = MinedTriplets
	obj, _ = New(o)
	want, err := obj.StepTriplets(context.Background(), e, nil,
		d.sample(SharedTriplets, Batch{Labels: labels}, 4, 0), g2)
	if err != nil || got != want || got.Tuples != 15 || !slices.Equal(g1.Data, g2.Data) {
		t.Errorf("%+v, on the triplets given %+v: %v", got, want, err)
	}
	for _, set := range []map[string]any{
		{"triplets": "intra", "loss": "supcon"}, {"triplets": "intra", "memory": 9},
		{"triplets": "shared", "relation": "coarse-not-fine"}, {"triplets": "shared", "loss": "contrastive"},
	} {
		o, err := ParseFlat(set)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "triplets is") {
			t.Errorf("%v: %v", set, err)
		}
	}
	_, err = ParseFlat(map[string]any{"triplets": "share"})
	if err == nil || !strings.Contains(err.Error(), "shared") {
		t.Errorf("a name that is nearly one: %v", err)
	}
}

// TestAdversary: layers that train against embeddings which stay as they are find out
// what one part tells of the other, and embeddings that go down the gradient hide it.
func TestAdversary(t *testing.T) {
	const n, d = 64, 6
	e, _ := gaussian(n, d, 8, 3)
	for i := range n { // the second part says what the first is
		copy(e.Row(i)[3:], e.Row(i)[:3])
	}
	l := &loss.Decorrelate{Hidden: 16}
	obj, err := New(Options{Loss: l, Dim: d, Mine: MiningConfig{Positives: AllPositives,
		Negatives: AllNegatives}})
	if err != nil {
		t.Fatal(err)
	}
	grad := matrix.New(n, d)
	b := Batch{Labels: make([]int64, n)}
	step := func(layers, embeddings float32) float64 {
		t.Helper()
		r, err := obj.Step(context.Background(), e, b, grad)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range obj.Params() {
			for k, g := range p.Grad {
				p.Value[k] -= layers * g
			}
		}
		for k, g := range grad.Data {
			e.Data[k] -= embeddings * g
		}
		return r.Value
	}
	start := step(0.5, 0)
	var told float64
	for range 300 {
		told = step(0.5, 0)
	}
	var hidden float64
	for range 300 {
		hidden = step(0, 0.5)
	}
	if told < start+0.1 || hidden > told-0.1 {
		t.Errorf("C %.3f at the start, %.3f for trained layers, %.3f for embeddings trained against them", start, told,
			hidden)
	}
}
