package run

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/train"
)

// TestVerdict: what a run says of itself names what was measured, and what to try follows
// from it.
func TestVerdict(t *testing.T) {
	cfg := Default()
	cfg.Network.Width, cfg.Data.Size, cfg.Train.Epochs, cfg.Eval.Recall = 16, 64, 3, []int{1}
	tr, err := newPlan(t.Context(), cfg, Options{Dataset: newPhotos(6, 12, 64), Weights: smallStart(t, 128)})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	scores := func(v float64) []train.Metric {
		return []train.Metric{validationScore("map@r", v)}
	}
	history := func(values ...float64) (rows []train.Epoch) {
		for i, v := range values {
			rows = append(rows, train.Epoch{Epoch: i + 1, Metrics: scores(v)})
		}
		return rows
	}
	for what, c := range map[string]struct {
		r     train.Result
		says  []string
		never []string
	}{
		"better": {r: train.Result{Epoch: 2, Metrics: scores(0.5), History: history(0.4, 0.5, 0.4)}},
		"still rising": {r: train.Result{Epoch: 3, Metrics: scores(0.6), History: history(0.4, 0.5, 0.6)},
			says: []string{"the last epoch was the best, so a longer run may be better: set train.epochs=6"}},
		"as long as the default": {
			r: train.Result{Epoch: 4, Metrics: scores(0.6), History: history(0.4, 0.5, 0.6, 0.7)}},
		"worse": {
			r: train.Result{History: history(0.1, 0.2, 0.1),
				Compared: &train.PairedComparison{Samples: 12, Gain: -0.1, P: 0.9}},
			says: []string{"the network before training is kept, at 64 px: training made " +
				"validation_map@r worse (0.3000 before, 0.2000 at most after)", "photographs of more " +
				"classes: from 6 little is learned",
				"data.size=128: training used images of 64 px", "network.freeze=body", "a lower train.lr"},
			never: []string{"more validation samples"}},
		"not told": {
			r: train.Result{History: history(0.1, 0.4, 0.1), Compared: &train.PairedComparison{Samples: 12,
				Gain: 0.1, P: 0.2}},
			says: []string{"rose (0.3000 before, 0.4000 at most after), but by no more than chance explains on 12 " +
				"validation samples (p 0.20)", "more validation samples, for a surer comparison " +
				"(data.validation=as-test:0.4)"},
			never: []string{"training made"}},
		"nothing to compare": {r: train.Result{History: history(0, 0, 0), Compared: &train.PairedComparison{P: 1}},
			says: []string{"no class has two validation samples"}},
		"another metric": {r: train.Result{History: history(0.1, 0.2, 0.3)},
			says: []string{"no epoch had a higher validation_map@r than 0.3000 (0.3000 at most)"}},
	} {
		c.r.Untrained, tr.cfg.Train.Epochs = scores(0.3), len(c.r.History)
		got := (&trainer{plan: tr}).verdict(&c.r)
		if len(c.says) == 0 && got != "" {
			t.Errorf("%s: %q", what, got)
		}
		for _, s := range c.says {
			if !strings.Contains(got, s) {
				t.Errorf("%s: %q lacks %q", what, got, s)
			}
		}
		for _, s := range c.never {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q has %q", what, got, s)
			}
		}
	}
}

// TestBeside: why validation and test scores differ is said where their galleries do.
func TestBeside(t *testing.T) {
	set := func(s Set, n, classes int, gallery *data.Part) *scoredSet {
		p := &data.Part{Data: &data.Dataset{}, Fine: make([]int64, n), Index: make([]int, n)}
		for i := range p.Fine {
			p.Fine[i] = int64(i % classes)
		}
		return &scoredSet{set: s, query: p, gallery: gallery}
	}
	large := set(TrainSet, 500, 40, nil).query
	for _, c := range []struct {
		sets []*scoredSet
		want string
	}{
		{[]*scoredSet{set(TestSet, 80, 20, nil)}, ""},
		{[]*scoredSet{set(TestSet, 80, 20, nil), set(ValidationSet, 84, 20, nil)}, ""},
		{[]*scoredSet{set(TestSet, 80, 20, nil), set(ValidationSet, 20, 5, large)},
			"the validation gallery has 500 images of 40 classes and the test gallery 80 of 20:"},
		{[]*scoredSet{set(TestSet, 80, 20, nil), set(ValidationSet, 80, 40, nil)}, "of 40 classes"},
		{[]*scoredSet{set(TestSet, 20, 20, large), set(ValidationSet, 20, 5, large)}, ""},
	} {
		got := describeGalleryGap(c.sets)
		if got == "" != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
