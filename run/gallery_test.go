package run

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/mat"
)

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
	files := folder(t, dir)
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
	all, err := m.Embed(t.Context(), p)
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
		if got, err := res.Last().Metric(key); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", key, got, err, want)
		}
	}
}

func squared(x *mat.Dense, a, b int) float64 {
	sum := 0.0
	for j := range x.Cols {
		d := float64(x.At(a, j)) - float64(x.At(b, j))
		sum += d * d
	}
	return sum
}

// TestBeside: why validation and test scores differ is said where their galleries do.
func TestBeside(t *testing.T) {
	set := func(s Set, n, classes int, gallery *data.Part) *scored {
		p := &data.Part{Data: &data.Dataset{}, Fine: make([]int64, n), Index: make([]int, n)}
		for i := range p.Fine {
			p.Fine[i] = int64(i % classes)
		}
		return &scored{set: s, query: p, gallery: gallery}
	}
	large := set(TrainSet, 500, 40, nil).query
	for _, c := range []struct {
		sets []*scored
		want string
	}{
		{[]*scored{set(TestSet, 80, 20, nil)}, ""},
		{[]*scored{set(TestSet, 80, 20, nil), set(ValidationSet, 84, 20, nil)}, ""},
		{[]*scored{set(TestSet, 80, 20, nil), set(ValidationSet, 20, 5, large)},
			"validation is looked up among 500 images of 40 classes and the test among 80 of 20:"},
		{[]*scored{set(TestSet, 80, 20, nil), set(ValidationSet, 80, 40, nil)}, "of 40 classes"},
		{[]*scored{set(TestSet, 20, 20, large), set(ValidationSet, 20, 5, large)}, ""},
	} {
		got := beside(c.sets)
		if got == "" != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
