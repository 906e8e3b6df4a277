package run

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run/internal/wccn"
)

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
		if got := m.Net.Param(wccn.LayerName+".weight") != nil; got != (c.computed > 0) {
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
	rows := newFeatures(4, 15, 5)
	x, labels := rows.Features, rows.Columns[0].IDs
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
	if whole.Net, err = wccn.New(features.X, labels).AppendTo(net, nn.Options{}); err != nil {
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
