package run

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/train"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/objective"
)

func TestIdleCauses(t *testing.T) {
	triplet := objective.Options{Mine: mine.Config{Negatives: mine.SemiHardNegative}}
	for _, c := range []struct {
		s    train.Sums
		o    objective.Options
		want string // "" for an epoch that taught something
	}{
		{train.Sums{}, triplet, ""},
		{train.Sums{Steps: 3, Samples: 96, Tuples: 100, Active: 1}, triplet, ""},
		{train.Sums{Steps: 3, Samples: 96, NoNegative: 96, NoPositive: 96}, triplet, "sample.classes"},
		{train.Sums{Steps: 3, Samples: 96, NoPositive: 96}, triplet, "no sample had a positive"},
		{train.Sums{Steps: 3, Samples: 96, NoPositive: 6, NoCandidate: 90}, triplet,
			"mine.negatives=semihard found no negative"},
		{train.Sums{Steps: 3, Samples: 96, NoPositive: 6, NoCandidate: 90},
			objective.Options{Mine: mine.Config{Positives: mine.SemiHardPositive, Negatives: mine.HardNegative}},
			"mine.positives=semihard found no positive nearer than the negative for any of 90 samples"},
		{train.Sums{Steps: 3, Samples: 96, NoPositive: 6, NoCandidate: 90},
			objective.Options{Mine: mine.Config{NegativeRange: mine.Range{From: new(3.0)}}},
			"90 times none was within the range of distances: widen mine.positives_from"},
		{train.Sums{Steps: 3, Samples: 96, NoPositive: 40, NoNegative: 56}, triplet, "and the reverse"},
		{train.Sums{Steps: 3, Samples: 96, NoPositive: 90, Tuples: 6}, triplet, "90 of 96 samples had no positive"},
		{train.Sums{Steps: 3, Samples: 900, Tuples: 900, Active: 8, Fallbacks: 800}, triplet,
			"8 of 900 tuples were active: for 800 of 900 positives"},
		{train.Sums{Steps: 3, Samples: 900, Tuples: 900}, triplet, "satisfy the loss"},
		{train.Sums{Steps: 3, Samples: 9, NoPositive: 80, Tuples: 300}, objective.Options{Loss: &loss.ProxyAnchor{}},
			"satisfy the loss"},
	} {
		got := idle(&c.s, &c.o)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}

// A run whose loss is satisfied says so, epoch by epoch, and one with lonely
// classes how many there are.
func TestRunSaysWhatIsIdle(t *testing.T) {
	d := newFeatures(6, 40, 20)
	keep := d.Columns[0].IDs
	for i := range keep { // classes 4 and 5 train with one picture each
		if keep[i] >= 4 && i%40 > 0 && i%40 < 20 {
			keep[i] = 3
		}
	}
	cfg := Default()
	cfg.Network.Name, cfg.Train.Epochs = "linear", 3
	cfg.Loss["margin"] = 0.0001
	var said []string
	begin := func(s Setup) { said = append(said, s.Notes...) }
	res, err := Train(t.Context(), cfg, Options{Dataset: d, Begin: begin, Observe: func(e train.Event) {
		if e.Stage == train.EpochEnd && e.Row.Warning != "" {
			said = append(said, e.Row.Warning)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := res.Summary("")
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "2 of 6 training classes") || len(s.Warnings) == 0 {
		t.Fatalf("summary %+v", s)
	}
	if len(said) != 1+len(s.Warnings) || said[0] != s.Notes[0] || !strings.HasSuffix(s.Warnings[0], said[1]) ||
		!strings.Contains(said[1], "loss.margin") {
		t.Errorf("said %q, summed up as %q", said, s.Warnings)
	}
}
