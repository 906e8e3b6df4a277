package mirror

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/store"
)

// An item that came as an embedding has a digest of its file, but not its size: it is not out of date for that.
func TestStaleWithoutSize(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.png"), "one", time.Hour)
	x, err := index.Create(filepath.Join(t.TempDir(), "ix"), index.Config{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	add := func(size int64) {
		t.Helper()
		it := store.Item{ID: "a.png", Path: filepath.Join(dir, "a.png"), Vector: []float32{1}}
		PutItem(&it, embedding.Item{Digest: strings.Repeat("a1", 32)})
		if size > 0 {
			it.Columns[Size] = float64(size)
		}
		if _, err := x.Add(t.Context(), []store.Item{it}, index.AddOptions{Existing: index.Replace}); err != nil {
			t.Fatal(err)
		}
	}
	for size, want := range map[int64]int{0: 0, 3: 0, 4: 1} {
		add(size)
		gone, changed, err := CountStale(t.Context(), x, openDataset(t, dir), Options{Set: dir})
		if gone != 0 || changed != want || err != nil {
			t.Errorf("size %d: %d gone, %d changed, %v", size, gone, changed, err)
		}
	}
}

// An index of an earlier version has boxes as Go prints them.
func TestRegion(t *testing.T) {
	for part, want := range map[any]string{nil: "", "": "", "xywh=1,2,3,4": "xywh=1,2,3,4",
		"(64,0)-(96,32)": "xywh=64,0,32,32",
		"(left)":         "(left)", 7.5: ""} {
		if got := Region(map[string]any{Part: part}); got != want {
			t.Errorf("%v: %q, want %q", part, got, want)
		}
	}
}
