package run

import (
	"testing"

	"github.com/kindred-ml/kindred/data"
	dense "github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
)

// TestRecomputed: without its computed layer a network gives the features, and computing the layer again from the same
// samples gives the embeddings back; from other samples it gives others.
func TestRecomputed(t *testing.T) {
	x, labels := classed(60, 5, 4, []float64{3, 1, 1, 0.5, 0.1}, []float64{1, 2, 1, 1, 1})
	spec := &nn.Spec{Input: nn.Shape{H: 1, W: 1, C: 5}, Layers: []nn.Layer{{Kind: nn.Dense, Name: "fc", Out: 4},
		{Kind: nn.L2Normalize}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Config: Default(), Net: net}
	if bare, err := m.WithoutComputed(); bare != nil || err != nil {
		t.Fatalf("%+v, %v: there is no such layer", bare, err)
	}
	part := &data.Part{Data: &data.Dataset{Name: "rows", Features: x, Names: make([]string, x.Rows)}, Label: labels,
		Fine: labels}
	for i := range x.Rows {
		part.Index = append(part.Index, i)
	}
	features, err := m.Embed(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	whole := *m
	if whole.Net, err = newWCCN(features.X, labels).after(net, nn.Options{}); err != nil {
		t.Fatal(err)
	}
	want, err := whole.Embed(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := whole.WithoutComputed()
	if err != nil || bare == nil || len(bare.Net.Spec().Layers) != 2 {
		t.Fatalf("%+v, %v", bare, err)
	}
	apart := func(from func(pos int) bool) float32 {
		t.Helper()
		e, err := bare.Embed(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Recomputed(from)
		if err != nil {
			t.Fatal(err)
		}
		return farthest(got.X, want.X)
	}
	if d := apart(func(int) bool { return true }); d > 1e-5 {
		t.Errorf("%g apart from the same samples", d)
	}
	if d := apart(func(pos int) bool { return labels[pos] > 0 }); d < 1e-3 {
		t.Errorf("%g apart from others", d)
	}
	if _, err := features.Recomputed(func(pos int) bool { return pos < 5 }); err == nil {
		t.Error("a layer from five samples")
	}
}

// farthest is the largest difference of two matrices.
func farthest(a, b *dense.Dense) (d float32) {
	for i, v := range a.Data {
		d = max(d, v-b.Data[i], b.Data[i]-v)
	}
	return d
}
