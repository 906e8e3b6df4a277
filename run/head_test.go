package run

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run/internal/wccn"
)

// TestHead: an embedding layer in front of pretrained features begins as their
// principal components, and loses little of the distances between them.
func TestHead(t *testing.T) {
	cfg := Default()
	cfg.Network.Width, cfg.Network.Dim, cfg.Network.Normalize, cfg.Data.Validation = 16, 12, Off, "none"
	opts := Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)}
	tr, err := newPlan(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.cfg.Network.Head != "pca" {
		t.Errorf("the head is %q", tr.cfg.Network.Head)
	}
	start, err := tr.computeStartFeatures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x := start.x
	plain, err := newFeed(tr.split.Train, tr.cfg.Data, 1, false, false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := embedFeed(t.Context(), tr.network.net, plain, 16)
	if err != nil {
		t.Fatal(err)
	}
	if e.X.Cols != 12 {
		t.Fatalf("%d values", e.X.Cols)
	}
	for i := range x.Rows {
		full, kept := norm(x.Row(i)), norm(e.X.Row(i))
		if kept > full*1.001 || kept < full*0.9 {
			t.Fatalf("row %d has length %v in front of the head and %v behind it", i, full, kept)
		}
	}
	cfg.Network.Dim, cfg.Network.Head = 100000, "pca"
	if _, err := newPlan(t.Context(), cfg, opts); err == nil || !strings.Contains(err.Error(), "network.head") {
		t.Errorf("too many components: %v", err)
	}
}

func norm(v []float32) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// TestPrincipal: the axes are orthonormal, the first along the longest direction.
func TestPrincipal(t *testing.T) {
	x := matrix.New(40, 5)
	for i := range x.Rows {
		for j := range x.Row(i) {
			x.Row(i)[j] = float32(math.Sin(float64(i*7+j*j*3))) * float32(5-j)
		}
	}
	axes, err := wccn.PrincipalDirections(x, 3)
	if err != nil {
		t.Fatal(err)
	}
	var spread []float64
	for a := range 3 {
		for b := range 3 {
			var dot float64
			for k := range 5 {
				dot += float64(axes[a*5+k]) * float64(axes[b*5+k])
			}
			want := 0.0
			if a == b {
				want = 1
			}
			if math.Abs(dot-want) > 1e-5 {
				t.Errorf("axes %d and %d: %v", a, b, dot)
			}
		}
		var s float64
		for i := range x.Rows {
			var p float64
			for k := range 5 {
				p += float64(axes[a*5+k]) * float64(x.Row(i)[k])
			}
			s += p * p
		}
		spread = append(spread, s)
	}
	if !(spread[0] >= spread[1] && spread[1] >= spread[2]) {
		t.Errorf("spread along the axes: %v", spread)
	}
}

// TestCoarseLabelsOfProxies: labels of several kinds make a pretrained start choose easy
// positives, but not for a loss that is defined for all of them.
func TestCoarseLabelsOfProxies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alike := newPictureData(52, 30, 64, func(c, _, k int) int { return 17*c*(k%3+1) + rng.IntN(24) })
	opts := Options{Dataset: alike, Weights: smallStart(t, 64)}
	for loss, want := range map[string]string{"supcon": "easy", "softtriple": "all"} {
		cfg, err := Parse("", nil, "data.label=mod:26", "network.width=16",
			"data.validation=none", "data.split=images:0.2", "train.epochs=1", "sample.batches=1", "eval.recall=[1]",
			"loss.name="+loss)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Train(t.Context(), cfg, opts)
		if err != nil {
			t.Errorf("%s: %v", loss, err)
		} else if got := res.Config.Mine["positives"]; got != want {
			t.Errorf("%s: positives %v, want %s: %v", loss, got, want, res.Notes)
		}
	}
}

// newHiddenClasses makes ready features of two coarse classes, the labels of training, with
// four finer classes in each, which training is never told. Coarse classes differ
// along one axis, finer ones along others. Half of the rows are for testing.
func newHiddenClasses(seed uint64) *data.Dataset {
	const coarse, fine, per, dim = 2, 4, 40, 10
	rng := rand.New(rand.NewPCG(seed, 77))
	n := coarse * fine * per
	d := &data.Dataset{Name: "hidden", Layout: "test", Fine: "fine", Train: "coarse", Coarse: "coarse",
		Features: matrix.New(n, dim)}
	kinds, classes := data.Column{Name: "fine"}, data.Column{Name: "coarse"}
	for c := range coarse {
		classes.Classes, classes.Numbers = append(classes.Classes, fmt.Sprint(c)), append(classes.Numbers, int64(c))
	}
	for f := range coarse * fine {
		kinds.Classes, kinds.Numbers = append(kinds.Classes, fmt.Sprint(f)), append(kinds.Numbers, int64(f))
	}
	for i := range n {
		f := i % (coarse * fine)
		c := f / fine
		row := d.Features.Row(i)
		for j := range row {
			row[j] = float32(0.5 * rng.NormFloat64())
		}
		row[0] += float32(3*c) - 1.5
		row[1+f%fine] += 2
		kinds.IDs, classes.IDs = append(kinds.IDs, int64(f)), append(classes.IDs, int64(c))
		d.Names = append(d.Names, fmt.Sprintf("row/%d", i))
		d.Splits = append(d.Splits, []data.Split{data.Train, data.Test}[i/(coarse*fine)%2])
	}
	d.Columns = []data.Column{kinds, classes}
	return d
}

// TestEasyPositivesKeepHiddenClasses is the main claim in small, with no data from
// elsewhere: a network that is told coarse labels only forgets the finer classes
// under random positives, and keeps them under easy ones, whatever the seed (Levi
// et al. 2021, section 5.1).
func TestEasyPositivesKeepHiddenClasses(t *testing.T) {
	recall := func(positives string, seed uint64) (fine, coarse float64) {
		cfg, err := Parse("test", nil,
			"network.name=mlp", "network.width=32", "network.dim=2", "sample.per_class=32", "sample.classes=2",
			"mine.positives="+positives, "mine.negatives=facenet", "train.epochs=30", "train.lr=0.01",
			"sample.batches=5",
			"eval.recall=1", "eval.every=30", fmt.Sprintf("train.seed=%d", seed))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Train(t.Context(), cfg, Options{Dataset: newHiddenClasses(seed)})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.LastEpoch().Metrics {
			switch m.Key() {
			case "test_recall@1":
				fine = m.Value
			case "test_label_recall@1":
				coarse = m.Value
			}
		}
		return fine, coarse
	}
	const seeds = 6
	var gain float64
	for seed := range uint64(seeds) {
		easy, easyCoarse := recall("easy", seed+1)
		random, randomCoarse := recall("random", seed+1)
		t.Logf("seed %d: finer classes %.3f with easy positives, %.3f with random ones; coarse %.3f and %.3f", seed+1,
			easy, random, easyCoarse, randomCoarse)
		gain += (easy - random) / seeds
		if easy <= random {
			t.Errorf("seed %d: easy positives find %.3f of the finer classes, random ones %.3f", seed+1, easy, random)
		}
		if easyCoarse < 0.9 || randomCoarse < 0.9 {
			t.Errorf("seed %d: the labels of training were not learnt: %.3f and %.3f", seed+1, easyCoarse, randomCoarse)
		}
	}
	if gain < 0.1 {
		t.Errorf("easy positives gain %.3f on average, want 0.1", gain)
	}
}
