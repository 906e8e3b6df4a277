package mirror

import (
	"errors"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/store"
)

// TestIntact: a file is intact by its time or by its content, and else missing or changed.
func TestIntact(t *testing.T) {
	dir := t.TempDir()
	for name, boxes := range map[string][]image.Rectangle{"whole": nil, "of a set with boxes": {{}},
		"a box": {image.Rect(1, 2, 5, 6)}} {
		path := filepath.Join(dir, "a.png")
		writeFile(t, path, "content", time.Hour)
		list, err := ReadFileRecords(t.Context(), data.ListFiles("set", []string{path}, boxes).All(), dir)
		if err != nil {
			t.Fatal(err)
		}
		it := store.Item{ID: "a.png", Path: path}
		list[0].Put(&it)
		intact := func(what string, want error) {
			t.Helper()
			box, err := CheckUnchanged(t.Context(), &it)
			if !errors.Is(err, want) || err == nil && boxes != nil && box != boxes[0] {
				t.Errorf("%s, %s: %v, %v, want %v", name, what, box, err, want)
			}
		}
		intact("untouched", nil)
		writeFile(t, path, "content", time.Minute)
		intact("touched", nil)
		writeFile(t, path, "Content", time.Minute)
		intact("changed", ErrChanged)
		delete(it.Columns, Digest)
		intact("without a digest", nil)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		intact("gone", fs.ErrNotExist)
		it.Path = ""
		intact("a vector", ErrNoPath)
	}
	path := filepath.Join(dir, "b.png")
	writeFile(t, path, "content", time.Hour)
	for text, want := range map[string]image.Rectangle{"(1,2)-(30,40)": image.Rect(1, 2, 30, 40),
		"xywh=1,2,29,38": image.Rect(1, 2, 30, 40)} {
		box, err := CheckUnchanged(t.Context(), &store.Item{Path: path, Columns: map[string]any{Part: text}})
		if box != want || err != nil {
			t.Errorf("%q: %v, %v", text, box, err)
		}
	}
	if _, err := CheckUnchanged(t.Context(), &store.Item{Path: path,
		Columns: map[string]any{Part: "left"}}); err == nil ||
		!strings.Contains(err.Error(), `file.part is "left"`) {
		t.Errorf("a region of another form: %v", err)
	}
}
