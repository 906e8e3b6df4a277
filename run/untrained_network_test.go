package run

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// newClassRows are n rows of d values in classes, which differ more along the first axis than
// along the others, in and between classes as given.
func newClassRows(n, d, classes int, within, between []float64) (*matrix.Dense, []int64) {
	rng := rand.New(rand.NewPCG(7, 7))
	x, labels := matrix.New(n, d), make([]int64, n)
	centres := matrix.New(classes, d)
	for c := range classes {
		for j := range d {
			centres.Row(c)[j] = float32(between[j] * rng.NormFloat64())
		}
	}
	for i := range n {
		labels[i] = int64(i % classes)
		for j := range d {
			x.Row(i)[j] = centres.Row(i % classes)[j] + float32(within[j]*rng.NormFloat64())
		}
	}
	return x, labels
}

// TestWCCN: the layer's square is the inverse of the shrunk covariance within classes, computed here
// from its definition, and the mean of the samples is mapped to zero.
func TestWCCN(t *testing.T) {
	const n, d, classes = 60, 5, 4
	x, labels := newClassRows(n, d, classes, []float64{3, 1, 1, 0.5, 0}, []float64{1, 2, 1, 1, 1})
	w := newWCCN(x, labels)
	if w == nil || w.samples != n {
		t.Fatalf("%+v", w)
	}
	var mean [d]float64
	var of [classes][d]float64
	for i := range n {
		for j, v := range x.Row(i) {
			mean[j] += float64(v) / n
			of[labels[i]][j] += float64(v) / (n / classes)
		}
	}
	var s [d][d]float64
	trace := 0.0
	for a := range d {
		for b := range d {
			for i := range n {
				m := of[labels[i]]
				s[a][b] += (float64(x.Row(i)[a]) - m[a]) * (float64(x.Row(i)[b]) - m[b]) / (n - classes)
			}
		}
		trace += s[a][a] / d
	}
	for a := range d { // T'T (S + k v I) = (1 + k) v I
		for b := range d {
			got := 0.0
			for j := range d {
				square := 0.0
				for k := range d {
					square += float64(w.weight.Row(k)[a]) * float64(w.weight.Row(k)[j])
				}
				shrunk := s[j][b]
				if j == b {
					shrunk += wccnShrinkage * trace
				}
				got += square * shrunk
			}
			want := 0.0
			if a == b {
				want = (1 + wccnShrinkage) * trace
			}
			if math.Abs(got-want) > 1e-4*trace {
				t.Errorf("T'T (S + k v I) at %d, %d is %v, want %v", a, b, got, want)
			}
		}
	}
	row := matrix.New(1, d)
	for j := range d {
		row.Data[j] = float32(mean[j])
	}
	for j, v := range w.apply(row).Data {
		if math.Abs(float64(v)) > 1e-5 {
			t.Errorf("value %d of the mean is %v, want 0", j, v)
		}
	}
}

// Features that do not tell how samples of a class differ give no layer.
func TestNoWCCN(t *testing.T) {
	one := []float64{1, 1, 1}
	x, labels := newClassRows(13, 3, 4, one, one)
	if newWCCN(x, labels) != nil {
		t.Error("a layer of 13 samples of 4 classes")
	}
	x, labels = newClassRows(14, 3, 4, one, one)
	if newWCCN(x, labels) == nil {
		t.Error("no layer of 14 samples of 4 classes")
	}
	x, labels = newClassRows(40, 3, 4, []float64{0, 0, 0}, one)
	if newWCCN(x, labels) != nil {
		t.Error("a layer of classes whose samples are the same")
	}
	x.Row(3)[1] = float32(math.NaN())
	if newWCCN(x, labels) != nil {
		t.Error("a layer of what is no number")
	}
}

// A run at the size of its start ends with the layer, too; one with an embedding layer that
// was asked for never does, nor one whose epoch the validation part does not choose: it was
// not embedded by the network before training.
func TestComputedLayer(t *testing.T) {
	for _, c := range []struct {
		set      []string
		computed int
	}{
		{nil, 48}, {[]string{"network.dim=8", "network.head=random"}, 0},
		{[]string{"train.best=test_recall@1", "data.validation=images:0.3", "data.split=images:0.3",
			"train.lr=1e-12"}, 0},
	} {
		set := append([]string{"network.width=16", "data.size=64", "train.epochs=2", "train.lr=30", "train.depth=1",
			"eval.recall=[1]", "data.augment=none", "loss.name=multisimilarity"}, c.set...)
		cfg, err := Parse("", nil, set...)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir() + "/a"
		res, err := Train(t.Context(), cfg, Options{Dataset: newPhotos(6, 12, 64), Weights: smallStart(t, 64),
			Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if res.Epoch != 0 || res.WCCNSamples != c.computed ||
			strings.Contains(res.Verdict, "(wccn)") != (c.computed > 0) {
			t.Errorf("%v: epoch %d, computed from %d: %s", c.set, res.Epoch, res.WCCNSamples, res.Verdict)
		}
		folder, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if ended, err := folder.FinalEpoch(); ended != 0 || err != nil {
			t.Errorf("%v: the folder says that the run ended with epoch %d, %v", c.set, ended, err)
		}
		m, err := folder.Model()
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Net.Param(wccnLayerName+".weight") != nil; got != (c.computed > 0) {
			t.Errorf("%v: the run folder's network has the layer: %v", c.set, got)
		}
		if e, err := m.EmbedPart(t.Context(), res.Test.Part); err != nil || e.X.Cols != res.Test.X.Cols {
			t.Errorf("%v: %v", c.set, err)
		}
	}
}

// TestRecomputed: without its computed layer a network gives the features, and computing the layer again from the same
// samples gives the embeddings back; from other samples it gives others.
func TestRecomputed(t *testing.T) {
	x, labels := newClassRows(60, 5, 4, []float64{3, 1, 1, 0.5, 0.1}, []float64{1, 2, 1, 1, 1})
	spec := &nn.Spec{Input: nn.Shape{H: 1, W: 1, C: 5}, Layers: []nn.Layer{{Kind: nn.Dense, Name: "fc", Out: 4},
		{Kind: nn.L2Normalize}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Config: Default(), Net: net}
	if bare, err := m.WithoutWCCN(); bare != nil || err != nil {
		t.Fatalf("%+v, %v: there is no such layer", bare, err)
	}
	part := &data.Part{Data: &data.Dataset{Name: "rows", Features: x, Names: make([]string, x.Rows)}, Label: labels,
		Fine: labels}
	for i := range x.Rows {
		part.Index = append(part.Index, i)
	}
	features, err := m.EmbedPart(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	whole := m.Copy()
	if whole.Net, err = newWCCN(features.X, labels).appendTo(net, nn.Options{}); err != nil {
		t.Fatal(err)
	}
	want, err := whole.EmbedPart(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := whole.WithoutWCCN()
	if err != nil || bare == nil || len(bare.Net.Spec().Layers) != 2 {
		t.Fatalf("%+v, %v", bare, err)
	}
	apart := func(from func(pos int) bool) float32 {
		t.Helper()
		e, err := bare.EmbedPart(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.RecomputeWCCN(from)
		if err != nil {
			t.Fatal(err)
		}
		return maxDifference(got.X, want.X)
	}
	if d := apart(func(int) bool { return true }); d > 1e-5 {
		t.Errorf("%g apart from the same samples", d)
	}
	if d := apart(func(pos int) bool { return labels[pos] > 0 }); d < 1e-3 {
		t.Errorf("%g apart from others", d)
	}
	if _, err := features.RecomputeWCCN(func(pos int) bool { return pos < 5 }); err == nil {
		t.Error("a layer from five samples")
	}
}

// maxDifference is the largest difference of two matrices.
func maxDifference(a, b *matrix.Dense) (d float32) {
	for i, v := range a.Data {
		d = max(d, v-b.Data[i], b.Data[i]-v)
	}
	return d
}
