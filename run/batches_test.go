package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

// Hierarchical batches hold so many coarse labels, fine ones of each, and
// samples of each.
func TestHierarchicalSampler(t *testing.T) {
	d := newBlobs(8, 20, 16)
	cfg, err := Parse("", nil, "data.label=mod:3", "sample.name=hierarchical", "sample.coarse=2", "sample.fine=2",
		"sample.per_class=5")
	if err != nil {
		t.Fatal(err)
	}
	sel, err := selectParts(t.Context(), &cfg, d, new(notes))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPopulation(sel.Train, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newConfiguredSampler(&cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range s.Epoch() {
		counts := map[[2]int64]int{}
		coarse := map[int64]bool{}
		for _, i := range b {
			counts[[2]int64{sel.Train.Label[i], sel.Train.Fine[i]}]++
			coarse[sel.Train.Label[i]] = true
		}
		if len(coarse) != 2 || len(counts) != 4 || len(b) != 20 {
			t.Fatalf("a batch of %v", counts)
		}
		for k, n := range counts {
			if n != 5 {
				t.Fatalf("%d samples of %v", n, k)
			}
		}
	}
}

// What a relation makes of a batch shows in what the steps count.
func TestRelations(t *testing.T) {
	several := func(label func(class, k int) []int64) *data.Dataset {
		d := newBlobs(4, 20, 16)
		d.MultiLabel = &data.MultiLabel{Classes: make([]string, 1000)}
		for i := range d.Names {
			d.MultiLabel.Sets = append(d.MultiLabel.Sets, label(i/20, i))
		}
		return d
	}
	for name, c := range map[string]struct {
		data                   *data.Dataset
		set                    []string
		noPositive, noNegative int // of 32 samples a step
	}{
		"one level": {newBlobs(4, 20, 16),
			[]string{"data.label=parity", "sample.per_class=16", "loss.name=triplet"}, 0, 0},
		"two fine": {newBlobs(4, 20, 16),
			[]string{"data.label=parity", "sample.name=hierarchical", "sample.coarse=2", "sample.fine=2",
				"sample.per_class=8", "loss.relation=coarse-not-fine"}, 0, 0},
		"one fine": {newBlobs(4, 60, 16),
			[]string{"data.label=parity", "sample.name=hierarchical", "sample.coarse=2", "sample.fine=1",
				"sample.per_class=16", "loss.relation=coarse-not-fine"}, 32, 0},
		"beta each": {newBlobs(4, 20, 16),
			[]string{"data.label=parity", "sample.per_class=16", "loss.name=margin", "loss.relation=coarse-not-fine"},
			0, 0},
		"all share one": {several(func(c, _ int) []int64 { return []int64{7, int64(c)} }),
			[]string{"sample.per_class=8", "loss.relation=shares-label"}, 0, 32},
		"none share": {several(func(_, i int) []int64 { return []int64{int64(i)} }),
			[]string{"sample.per_class=8", "loss.relation=shares-label"}, 32, 0},
		"some have none": {several(func(c, _ int) []int64 { return [][]int64{{1}, {1, 2}, {2}, {}}[c] }),
			[]string{"sample.per_class=8", "loss.relation=shares-label"}, 8, 0},
		"beta for shared": {several(func(c, _ int) []int64 { return []int64{int64(c), int64(c) + 1} }),
			[]string{"sample.per_class=8", "loss.name=margin", "loss.memory=64", "loss.relation=shares-label"}, 0, 0},
	} {
		cfg, err := Parse("", nil,
			append([]string{"network.width=8", "train.epochs=1", "sample.batches=2"}, c.set...)...)
		if err != nil {
			t.Fatal(name, err)
		}
		res, err := Train(t.Context(), cfg, Options{Dataset: c.data})
		if err != nil {
			t.Fatal(name, err)
		}
		row := res.LastEpoch()
		if row.Samples != 64 || row.NoPositive != 2*c.noPositive || row.NoNegative != 2*c.noNegative {
			t.Errorf("%s: %+v, want %d of 32 without a positive and %d without a negative", name, row.Totals,
				c.noPositive, c.noNegative)
		}
	}
}

func TestBatchMistakes(t *testing.T) {
	for want, set := range map[string][]string{
		"sample.name":                  {"sample.name=hierarchic"},
		"did you mean \"balanced\"":    {"sample.name=balance"},
		"sample.coarse: only for":      {"sample.coarse=2"},
		"sample.fine: only for":        {"sample.fine=2"},
		"sample.classes: hierarchical": {"sample.name=hierarchical", "sample.classes=2"},
		"sample.coarse: -1":            {"sample.coarse=-1"},
		"loss.relation: unknown":       {"loss.relation=share-label"},
	} {
		if _, err := Parse("", nil, set...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v does not say %q", set, err, want)
		}
	}
	for want, set := range map[string][]string{
		"one level of labels":         {"sample.name=hierarchical"},
		"loss.relation: coarse-not-f": {"loss.relation=coarse-not-fine"},
		"blobs has none":              {"loss.relation=shares-label"},
		"3 coarse classes a batch":    {"data.label=parity", "sample.name=hierarchical", "sample.coarse=3"},
		"neither a memory nor":        {"data.label=parity", "loss.name=proxynca", "loss.relation=coarse-not-fine"},
	} {
		cfg, err := Parse("", nil, set...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v does not say %q", set, err, want)
		}
	}
}

// With no setting but the positives, classes of 2 and of 5 images teach
// something about others: the trained network retrieves classes it has not seen
// better than the same network whose weights did not move. (Repeated images in a
// batch left the nearest positive at distance 0, and nothing to learn.)
func TestDefaultsLearnFromSmallClasses(t *testing.T) {
	recall := func(limit int, positives string, lr float64) float64 {
		cfg := Default()
		cfg.Data.Split, cfg.Data.TrainLimit, cfg.Mine["positives"] = "classes", limit, positives
		cfg.Train.LR, cfg.Eval.Every = lr, scratchEpochs
		res, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(40, 12, 16)})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := res.LastEpoch().Metric("test_recall@1")
		return r
	}
	for _, limit := range []int{2, 5} {
		start := recall(limit, "easy", 1e-9)
		for _, positives := range []string{"easy", "random"} {
			if r := recall(limit, positives, Default().Train.LR); r < start+0.02 {
				t.Errorf("%d images a class, %s positives: Recall@1 %.3f, untrained %.3f", limit, positives, r, start)
			}
		}
	}
}

// TestViews: with sample.views each sample of a batch is in it in so many rows, of
// other pixels each, which only a loss between views compares with each other.
func TestViews(t *testing.T) {
	train := func(set ...string) *Result {
		t.Helper()
		cfg, err := Parse("", nil, append([]string{"data.augment=standard", "network.width=8", "train.epochs=1",
			"sample.classes=2", "sample.per_class=4", "sample.batches=3", "mine.positives=all", "mine.negatives=all"},
			set...)...)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for name, c := range map[string]struct {
		set             []string
		samples, tuples int // of three steps
	}{
		"once":          {[]string{"loss.name=contrastive"}, 3 * 8, 3 * 8 * 7},
		"views":         {[]string{"loss.name=contrastive", "sample.views=2"}, 3 * 16, 3 * 16 * 14},
		"between views": {[]string{"loss.name=spread", "sample.views=2"}, 3 * 16, 3 * 16},
		"three views":   {[]string{"loss.name=spread", "sample.views=3"}, 3 * 24, 3 * 24 * 2},
		"of a class alone": {[]string{"loss.name=spread", "sample.views=2", "sample.classes=1", "sample.per_class=8"},
			3 * 16, 3 * 16},
		"hierarchical": {[]string{"loss.name=spread", "sample.views=2", "sample.name=hierarchical", "sample.classes=0",
			"data.label=parity", "sample.coarse=2", "sample.fine=1"}, 3 * 16, 3 * 16},
		"views alone are positives": {[]string{"loss.name=maskcon", "sample.views=2", "sample.classes=4",
			"sample.per_class=1"}, 3 * 8, 3 * 8},
	} {
		if row := train(c.set...).LastEpoch(); row.Samples != c.samples || row.Tuples != c.tuples {
			t.Errorf("%s: %d samples, %d terms, want %d and %d", name, row.Samples, row.Tuples, c.samples, c.tuples)
		}
	}
	res := train("loss.name=spread", "sample.views=2", "loss.temperature=1")
	again := train("loss.name=spread", "sample.views=2", "loss.temperature=1")
	if again.LastEpoch().Loss != res.LastEpoch().Loss {
		t.Errorf("loss %v, and with the same seed %v", res.LastEpoch().Loss, again.LastEpoch().Loss)
	}
	tr, err := newPlan(t.Context(), res.Config, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range tr.feeds.training.Data.Epoch(t.Context(), 0, tr.batches.sampler.Epoch()) {
		if err != nil {
			t.Fatal(err)
		}
		n := len(b.X) / len(b.Pos)
		for k := 0; k < len(b.Pos); k += 2 {
			if b.Pos[k] != b.Pos[k+1] || slices.Equal(b.X[k*n:(k+1)*n], b.X[(k+1)*n:(k+2)*n]) {
				t.Fatalf("rows %d and %d of samples %d: not two views of one", k, k+1, b.Pos)
			}
		}
	}
}

// TestViewsRefused: views that would be one picture, and losses that find none, are
// errors that say what to set.
func TestViewsRefused(t *testing.T) {
	images := newBlobs(4, 20, 16)
	singles := newBlobs(8, 3, 16)
	for want, c := range map[string]struct {
		d   *data.Dataset
		set []string
	}{
		"sample.views: -1: must be 0":      {images, []string{"sample.views=-1"}},
		"set data.augment":                 {images, []string{"sample.views=2", "loss.name=triplet"}},
		"all views of a sample are equ":    {images, []string{"sample.views=3", "data.augment=none"}},
		"cannot be augmented: set sample.": {newFeatures(4, 20, 6), []string{"sample.views=2", "data.augment=light"}},
		"views is 5000: must be at most":   {images, []string{"sample.views=5000", "data.augment=light"}},
		"set sample.views=2":               {images, []string{"loss.name=spread", "data.augment=light"}},
		"one sample of each class": {images, []string{"sample.views=2", "data.augment=light", "sample.per_class=1",
			"loss.name=proxynca", "loss.plus=[{name: spread}]"}},
		"has a positive": {images, []string{"sample.views=2", "data.augment=light", "sample.per_class=1"}},
		"only one picture, so no sample": {singles, []string{"sample.views=2", "data.augment=light",
			"loss.name=supcon"}},
		"use labels with as many": {singles, []string{"sample.views=2", "data.augment=light", "loss.name=spread"}},
	} {
		cfg, err := Parse("", nil, append([]string{"network.width=8", "train.epochs=1"}, c.set...)...)
		if err == nil {
			_, err = Train(t.Context(), cfg, Options{Dataset: c.d})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v does not say %q", c.set, err, want)
		}
	}
	setCacheDir(t, t.TempDir())
	_, err := newPlan(t.Context(), frozenConfig(t, "sample.views=3", "data.views=2"),
		Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64)})
	if err == nil || !strings.Contains(err.Error(), "set data.views to 3") {
		t.Errorf("too few kept views: %v", err)
	}
}
