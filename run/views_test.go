package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

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
	} {
		if row := train(c.set...).Last(); row.Samples != c.samples || row.Tuples != c.tuples {
			t.Errorf("%s: %d samples, %d terms, want %d and %d", name, row.Samples, row.Tuples, c.samples, c.tuples)
		}
	}
	res := train("loss.name=spread", "sample.views=2", "loss.temperature=1")
	again := train("loss.name=spread", "sample.views=2", "loss.temperature=1")
	if again.Last().Loss != res.Last().Loss {
		t.Errorf("loss %v, and with the same seed %v", res.Last().Loss, again.Last().Loss)
	}
	tr, err := assemble(t.Context(), res.Config, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range tr.feed.data.Epoch(t.Context(), 0, tr.sampler.Epoch()) {
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
		"sample.views: -1 is less":         {images, []string{"sample.views=-1"}},
		"set data.augment":                 {images, []string{"sample.views=2", "loss.name=triplet"}},
		"the 3 views of a sample are o":    {images, []string{"sample.views=3", "data.augment=none"}},
		"cannot be augmented: leave it at": {newFeatures(4, 20, 6), []string{"sample.views=2", "data.augment=light"}},
		"5000 views of a sample are mo":    {images, []string{"sample.views=5000", "data.augment=light"}},
		"set sample.views=2":               {images, []string{"loss.name=spread", "data.augment=light"}},
		"one of each class": {images, []string{"sample.views=2", "data.augment=light", "sample.per_class=1",
			"loss.name=proxynca", "loss.plus=[{name: spread}]"}},
		"has a positive": {images, []string{"sample.views=2", "data.augment=light", "sample.per_class=1"}},
		"one picture only: no sample": {singles, []string{"sample.views=2", "data.augment=light",
			"loss.name=supcon"}},
		"labels that have as many": {singles, []string{"sample.views=2", "data.augment=light", "loss.name=spread"}},
	} {
		cfg, err := Parse("", nil, append([]string{"network.width=8", "train.epochs=1"}, c.set...)...)
		if err == nil {
			_, err = Train(t.Context(), cfg, Options{Dataset: c.d})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v does not say %q", c.set, err, want)
		}
	}
	cacheAt(t, t.TempDir())
	_, err := assemble(t.Context(), frozenConfig(t, "sample.views=3", "data.views=2"),
		Options{Dataset: photos(8, 10, 64), Weights: smallStart(t, 64)})
	if err == nil || !strings.Contains(err.Error(), "set data.views to 3") {
		t.Errorf("too few kept views: %v", err)
	}
}
