package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/train"
)

func TestMetricsOf(t *testing.T) {
	cfg := Default()
	cfg.Eval.Recall, cfg.Eval.Metrics = []int{1, 2}, []string{"recall@2", "map@r", "fine:nmi", "label:ami"}
	recall := func(k int) eval.Metric { return eval.Metric{Kind: eval.Recall, K: k} }
	for _, last := range []bool{false, true} {
		got, err := cfg.epochMetrics(last)
		if err != nil {
			t.Fatal(err)
		}
		for column, want := range map[string][]string{"fine": {"recall@1", "recall@2", "map@r", "nmi"},
			"label": {"recall@1", "recall@2", "map@r", "ami"}} {
			if !last {
				want = want[:2]
			}
			var names []string
			for _, m := range got[column] {
				names = append(names, m.String())
			}
			if !slices.Equal(names, want) || got[column][1] != recall(2) {
				t.Errorf("last %v, %s: %v, want %v", last, column, names, want)
			}
		}
	}
}

// A metric that the labels do not allow ends a run before its first step, with
// its name, what it needs and what there is, and leaves no run folder.
func TestImpossibleMetricsEndARunBeforeItsFirstStep(t *testing.T) {
	oneTestImage := func(d *data.Dataset) { // a class keeps one test sample
		seen := map[int64]bool{}
		for i, y := range d.Columns[0].IDs {
			if d.Splits[i] == data.Test {
				if seen[y] {
					d.Splits[i] = data.Train
				}
				seen[y] = true
			}
		}
	}
	for name, c := range map[string]struct {
		set  []string
		data func(*data.Dataset)
		want []string
	}{
		"more clusters than rows": {[]string{"eval.metrics=fine:nmi+30"}, nil,
			[]string{"the test samples", `nmi+30 by "fine"`, "4 x 30 clusters", "there are 24 rows"}},
		"of the training label": {[]string{"eval.metrics=label:ami+13"}, nil,
			[]string{`ami+13 by "label"`, "2 x 13 clusters", "there are 24 rows"}},
		"one test image a class": {[]string{"eval.metrics=[]"}, oneTestImage,
			[]string{"the test samples", `recall@1, recall@5 by "fine"`, "no query has a positive"}},
		"k beyond the rows": {[]string{"eval.metrics=[]", "eval.recall=1,24"}, nil,
			[]string{`recall@24 by "fine" needs 24 items besides the query, but there are 23`}},
		"k of another metric": {[]string{"eval.metrics=precision@24"}, nil,
			[]string{`precision@24 by "label" needs 24 items`}},
		"of training samples": {[]string{"eval.metrics=[]", "eval.train=4"}, nil,
			[]string{"the train samples", "no query has a positive"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newBlobs(4, 12, 12)
			if c.data != nil {
				c.data(d)
			}
			cfg := smallConfig(t)
			text := cfg.YAML()
			cfg, err := Parse("test", text, c.set...)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "run")
			_, err = Train(t.Context(), cfg, Options{Dataset: d, Dir: dir, Observe: func(e train.Event) {
				if e.Stage == train.Stepped {
					t.Fatal("a step was made first")
				}
			}})
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error lacks %q: %v", w, err)
				}
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a run folder was made: %v", err)
			}
		})
	}
}

// The default's k may exceed a small test set: nobody asked for them.
func TestDefaultRecallOfAFewTestImages(t *testing.T) {
	cfg := Default()
	cfg.Train.Epochs, cfg.Network.Width, cfg.Network.Dim = 1, 4, 4
	d := newBlobs(2, 8, 16)
	if _, err := Train(t.Context(), cfg, Options{Dataset: d}); err != nil {
		t.Error(err)
	}
}

// What labels do not allow ends with what photos allow without them.
func TestWithoutTrainingPhotosCanBeLookedUp(t *testing.T) {
	const way = "kindred search finds photos without training"
	for name, d := range map[string]*data.Dataset{
		"one class": newPhotos(1, 12, 16), "one image of each class": newPhotos(8, 1, 16),
		"too few images": newPhotos(3, 3, 16),
	} {
		cfg := Default()
		if _, err := Plan(t.Context(), cfg, Options{Dataset: d}); err == nil || !strings.Contains(err.Error(), way) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rows := newFeatures(1, 12, 4)
	_, err := Plan(t.Context(), Default(), Options{Dataset: rows})
	if err == nil || strings.Contains(err.Error(), way) {
		t.Errorf("features: %v", err)
	}
}

// Folders of two, three and five images a class, and of two and three classes, train
// and are scored as they are.
func TestSmallClassesTrain(t *testing.T) {
	for _, c := range [][2]int{{8, 2}, {8, 3}, {3, 5}, {2, 4}} {
		cfg := Default()
		cfg.Network.Width, cfg.Network.Dim, cfg.Train.Epochs = 4, 8, 1
		for _, weights := range []func(context.Context, string) (Start, error){nil, smallStart(t, 64)} {
			if weights != nil {
				cfg.Network.Width, cfg.Network.Dim = 16, 0
			}
			res, err := Train(t.Context(), cfg, Options{Dataset: newPhotos(c[0], c[1], 64), Weights: weights})
			if err != nil {
				t.Errorf("%d classes of %d: %v", c[0], c[1], err)
				continue
			}
			if v, err := metricValue(res.Scores, "test_recall@1"); err != nil || math.IsNaN(v) {
				t.Errorf("%d classes of %d: %v %v", c[0], c[1], v, err)
			}
		}
	}
}

// TestGallery scores queries against a gallery of their own, by both columns of
// labels, and keeps the embeddings of both.
func TestGallery(t *testing.T) {
	d := newFeatures(4, 12, 6)
	for i := range d.Splits {
		switch k := i % 12; {
		case k >= 10:
			d.Splits[i] = data.Query
		case k >= 6:
			d.Splits[i] = data.Gallery
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	cfg := faultConfig(t)
	res, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: d})
	if err != nil {
		t.Fatal(err)
	}
	files := readFolder(t, dir)
	if n := strings.Count(files["labels.csv"], "\n"); n != 1+4*2 {
		t.Errorf("%d lines of queries", n)
	}
	if n := strings.Count(files["gallery_labels.csv"], "\n"); n != 1+4*4 {
		t.Errorf("%d lines of the gallery", n)
	}
	// Users' runs have checkpoints of this version: another needs a reader of both.
	if !strings.Contains(files["checkpoint/last.safetensors"], `"version":"1"`) {
		t.Error("the checkpoint is not of version 1")
	}
	// Recall@1 by the plain loop.
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := d.All()
	all, err := m.EmbedPart(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	fine, parity := 0, 0
	for q := range d.Splits {
		if d.Splits[q] != data.Query {
			continue
		}
		best, least := -1, 0.0
		for g := range d.Splits {
			if v := squared(all.X, q, g); d.Splits[g] == data.Gallery && (best < 0 || v < least) {
				best, least = g, v
			}
		}
		if q/12 == best/12 {
			fine++
		}
		if q/12%2 == best/12%2 {
			parity++
		}
	}
	for key, want := range map[string]float64{"test_recall@1": float64(fine) / 8,
		"test_label_recall@1": float64(parity) / 8} {
		if got, err := res.LastEpoch().Metric(key); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", key, got, err, want)
		}
	}
}

func squared(x *matrix.Dense, a, b int) float64 {
	sum := 0.0
	for j := range x.Cols {
		d := float64(x.At(a, j)) - float64(x.At(b, j))
		sum += d * d
	}
	return sum
}

// A test sample that is also an item of the gallery does not find itself, in the metrics of an epoch and in checks.
func TestQueriesInTheGallery(t *testing.T) {
	x := matrix.New(40, 6)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	roles := make([]data.Split, 40)
	labels := make([]string, 40)
	for i := range roles {
		roles[i] = []data.Split{data.Test, data.Gallery, data.Train, data.Train}[i%4]
		labels[i] = string(rune('a' + i/2%5))
	}
	set := func() *data.Dataset {
		d := &data.Dataset{Name: "rows", Layout: "features", Features: x,
			Columns: []data.Column{data.NewColumn("label", labels)}, Fine: "label", Train: "label", Splits: roles}
		for i := range roles {
			d.Names = append(d.Names, fmt.Sprint("row/", i))
		}
		return d
	}
	cfg := Default()
	cfg.Data.Split, cfg.Eval.Recall, cfg.Eval.Metrics = "official", []int{1}, nil
	sel, err := split.Select(t.Context(), set(), split.Selection{Split: "official", Label: "label"})
	if err != nil {
		t.Fatal(err)
	}
	s := listScoredSets(sel, &cfg)[0]
	if s.gallery == nil || len(s.selfPositions) != 10 || s.selfPositions[3] != 6 {
		t.Fatalf("%+v", s.selfPositions)
	}
	s.q = &Embeddings{Part: s.query, Pos: []int{0, 3, 9}}
	s.g = &Embeddings{Part: s.gallery, Pos: []int{0, 1, 2, 6, 7}}
	if have := s.selfRows(); !slices.Equal(have, []int32{0, 3, -1}) {
		t.Errorf("%v", have)
	}
}
