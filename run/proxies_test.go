package run

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/wccn"
)

// assembleSmall assembles a run of eight classes of ten photos from a small pretrained network.
func assembleSmall(t *testing.T, set ...string) (*plan, error) {
	t.Helper()
	cfg, err := Parse("", nil, append([]string{"network.width=16", "data.validation=none"}, set...)...)
	if err != nil {
		return nil, err
	}
	b, err := newPlan(t.Context(), cfg, Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)})
	if err == nil {
		t.Cleanup(b.close)
	}
	return b, err
}

// startEmbeddings returns the embeddings of the training samples before training, and their classes.
func startEmbeddings(t *testing.T, b *plan) (*matrix.Dense, []int64) {
	t.Helper()
	plain, err := newFeed(b.split.Train, b.cfg.Data, 1, false, false)
	if err != nil {
		t.Fatal(err)
	}
	if b.feeds.features != nil {
		b.feeds.features.ReplaceImages(plain, 0)
	}
	e, err := embedFeed(t.Context(), b.network.trained, plain, 16)
	if err != nil {
		t.Fatal(err)
	}
	return e.X, lists.At(b.batches.population.lossLabels, e.Pos)
}

// TestProxiesStart: from a pretrained start a proxy points at the mean direction of its samples, whatever the loss, the
// number of proxies of a class and the network.
func TestProxiesStart(t *testing.T) {
	setCacheDir(t, t.TempDir())
	for _, c := range []struct {
		set string
		per int
	}{
		{"loss.name=cosface", 1},
		{"loss.name=proxy-anchor network.dim=12", 1},
		{"loss.name=subcenter-arcface", 3},
		{"loss.name=subcenter-arcface loss.centers=50", 50}, // more than samples
		{"loss.name=arcface network.freeze=body", 1},
		{"loss.name=normsoftmax network.normalize=false", 1},
	} {
		b, err := assembleSmall(t, strings.Fields(c.set)...)
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		x, labels := startEmbeddings(t, b)
		p := b.objective.(*objective.Objective).Params()[0]
		turn := map[int64]int{}
		sums := make([][]float64, p.Shape[0])
		for i := range x.Rows {
			k := int(labels[i])*c.per + turn[labels[i]]%c.per
			turn[labels[i]]++
			for j, v := range x.Row(i) {
				if sums[k] == nil {
					sums[k] = make([]float64, x.Cols)
				}
				sums[k][j] += float64(v) / norm(x.Row(i))
			}
		}
		filled := 0
		for k, sum := range sums {
			row := p.Value[k*x.Cols : (k+1)*x.Cols]
			if sum == nil { // no sample
				if norm(row) == 0 {
					t.Errorf("%s: proxy %d is zero", c.set, k)
				}
				continue
			}
			filled++
			var dot, squares float64
			for j, v := range sum {
				dot += v * float64(row[j])
				squares += v * v
			}
			if n := norm(row); math.Abs(n-1) > 1e-4 || math.Abs(dot/math.Sqrt(squares)-1) > 1e-4 {
				t.Errorf("%s: proxy %d has length %v and cosine %v with the mean", c.set, k, n, dot/math.Sqrt(squares))
			}
		}
		if want := 8 * min(c.per, len(labels)/8); filled != want {
			t.Errorf("%s: %d proxies have samples, not %d", c.set, filled, want)
		}
		if b.cfg.Train.Proxies != "means" {
			t.Errorf("%s: train.proxies is %q", c.set, b.cfg.Train.Proxies)
		}
	}
}

// TestProxiesSettled: random proxies are those of the loss, and the key is refused where there are no proxies.
func TestProxiesSettled(t *testing.T) {
	b, err := assembleSmall(t, "loss.name=cosface", "train.proxies=random")
	if err != nil {
		t.Fatal(err)
	}
	p := b.objective.(*objective.Objective).Params()[0]
	if n := norm(p.Value[:p.Shape[1]]); math.Abs(n-1) < 0.01 {
		t.Errorf("a random proxy has length %v", n)
	}
	for _, set := range [][]string{
		{"loss.name=multisimilarity", "train.proxies=means"},
		{"train.proxies=nearest", "loss.name=cosface"},
	} {
		if _, err := assembleSmall(t, set...); err == nil || !strings.Contains(err.Error(), "train.proxies") {
			t.Errorf("%v: %v", set, err)
		}
	}
	if b, err = assembleSmall(t, "loss.name=multisimilarity"); err != nil || b.cfg.Train.Proxies != "" {
		t.Errorf("a loss without proxies: train.proxies %v, %v", b.cfg.Train.Proxies, err)
	}
}

// TestWCCNHead: an embedding layer can begin as the wccn layer of the features. A shorter one has its principal
// components.
func TestWCCNHead(t *testing.T) {
	b, err := assembleSmall(t, "network.head=wccn", "network.normalize=false")
	if err != nil {
		t.Fatal(err)
	}
	start, err := b.computeStartFeatures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, labels := start.x, start.labels
	if b.cfg.Network.Dim != x.Cols {
		t.Errorf("network.dim is %d for %d features", b.cfg.Network.Dim, x.Cols)
	}
	want := wccn.New(x, labels).Apply(x)
	got, _ := startEmbeddings(t, b)
	scale := norm(want.Row(0))
	if d := maxDifference(want, got); float64(d) > 1e-3*scale {
		t.Errorf("embeddings of length %v differ by %v from those of the layer", scale, d)
	}
	b, err = assembleSmall(t, "network.head=wccn", "network.dim=6", "network.normalize=false")
	if err != nil {
		t.Fatal(err)
	}
	short, _ := startEmbeddings(t, b)
	var kept, all float64
	for i := range want.Rows {
		kept += norm(short.Row(i)) * norm(short.Row(i))
		all += norm(want.Row(i)) * norm(want.Row(i))
	}
	axes, err := wccn.PrincipalDirections(want, 6)
	if err != nil {
		t.Fatal(err)
	}
	y := matrix.New(want.Rows, 6)
	matrix.Gemm(false, true, 1, want, matrix.FromSlice(6, want.Cols, axes), 0, y)
	var most float64
	for i := range y.Rows {
		most += norm(y.Row(i)) * norm(y.Row(i))
	}
	if math.Abs(kept-most) > 1e-3*all {
		t.Errorf("six values keep %v of %v, their principal components %v", kept, all, most)
	}
	if _, err := assembleSmall(t, "network.head=wccn", "data.train_limit=1", "data.split=images:0.2",
		"loss.name=cosface"); err == nil || !strings.Contains(err.Error(), "network.head") {
		t.Errorf("one photo of each class: %v", err)
	}
	if _, err := assembleSmall(t, "network.head=wccn", "network.pretrained=none"); err == nil ||
		!strings.Contains(err.Error(), "network.head=wccn") {
		t.Errorf("random weights: %v", err)
	}
}

// TestFeaturesOfPretrainedRows: ready features can start from pretrained weights too, whose features before training
// decide as those of images do.
func TestFeaturesOfPretrainedRows(t *testing.T) {
	opts := Options{Dataset: newFeatures(6, 12, 8), Dir: filepath.Join(t.TempDir(), "first")}
	set := []string{"network.name=mlp", "network.width=16", "network.dim=4", "train.epochs=1", "eval.recall=[1]"}
	cfg, err := Parse("", nil, set...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Train(t.Context(), cfg, opts); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"loss.name=multisimilarity", "loss.name=cosface", "train.seed=2"} {
		cfg, err := Parse("", nil, append(set, "network.pretrained="+opts.Dir, more)...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Train(t.Context(), cfg, Options{Dataset: opts.Dataset}); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}
