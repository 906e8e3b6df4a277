package run

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestEarlierRun goes on with a run that an earlier version began: its checkpoint
// holds no settings, its configuration no split, and its labels a coarse column.
// The numbers are those to which that version came itself.
func TestEarlierRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "earlier", "run"))); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Its network gives the embeddings that it wrote.
	kept, err := f.Embeddings(TestSet)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Model()
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenData(t.Context(), m.Config.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	p := d.All()
	e, err := m.Embed(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range kept.X.Rows { // the last 16 of 48 rows test
		for j := range kept.X.Cols {
			if a, b := kept.X.At(i, j), e.X.At(32+i, j); math.Abs(float64(a-b)) > 1e-5 {
				t.Fatalf("row %d is %v, and was %v", i, e.X.Row(32+i), kept.X.Row(i))
			}
		}
	}
	// It ended at an image that cannot be read, and goes on to.
	if cfg, err := f.Config(); err != nil || !cfg.Data.Strict {
		t.Errorf("strict %v, %v", cfg.Data.Strict, err)
	}
	if err := asIs(t, dir, nil); err != nil {
		t.Fatal(err)
	}
	h, err := f.History()
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{0.63016550011105, 0.49759860611151135}; len(h.Values["loss"]) != 2 ||
		math.Abs(h.Values["loss"][0]-want[0]) > 1e-5 || math.Abs(h.Values["loss"][1]-want[1]) > 1e-5 {
		t.Errorf("losses %v, want %v", h.Values["loss"], want)
	}
	c, err := f.Checkpoint()
	if err != nil || c.Settings == "" {
		t.Errorf("%v, the checkpoint holds the settings %q", err, c.Settings)
	}
}
