package run

import (
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
	start := &started{opened: &opened{cfg: cfg, data: d}}
	sel, err := start.selectData(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPopulation(sel.Train, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSampler(&cfg, p)
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
		d.Several = &data.Several{Classes: make([]string, 1000)}
		for i := range d.Names {
			d.Several.Sets = append(d.Several.Sets, label(i/20, i))
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
		row := res.Last()
		if row.Samples != 64 || row.NoPositive != 2*c.noPositive || row.NoNegative != 2*c.noNegative {
			t.Errorf("%s: %+v, want %d of 32 without a positive and %d without a negative", name, row.Sums,
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
		"lists none":                  {"loss.relation=shares-label"},
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
		r, _ := res.Last().Metric("test_recall@1")
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
