package mirror

import (
	"errors"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/store"
)

// TestIntact: a file is intact by its time or by its content, and else missing or changed.
func TestIntact(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.png"), "content", time.Hour)
	set := opened(t, dir)
	list, err := Facts(t.Context(), set.All(), dir)
	if err != nil {
		t.Fatal(err)
	}
	it := store.Item{ID: "a.png", Path: filepath.Join(dir, "a.png")}
	list[0].Put(&it)
	intact := func(what string, want error) {
		t.Helper()
		info, err := Intact(&it)
		if !errors.Is(err, want) || (info == nil) != (want != nil) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	intact("untouched", nil)
	write(t, it.Path, "content", time.Minute)
	intact("touched", nil)
	write(t, it.Path, "Content", time.Minute)
	intact("changed", ErrChanged)
	delete(it.Columns, Digest)
	intact("without a digest", nil)
	if err := os.Remove(it.Path); err != nil {
		t.Fatal(err)
	}
	intact("gone", fs.ErrNotExist)
	it.Path = ""
	intact("a vector", ErrNoPath)
}

// TestBox: both forms of a box are read, and nothing else.
func TestBox(t *testing.T) {
	for text, want := range map[string]image.Rectangle{"": {}, "(1,2)-(30,40)": image.Rect(1, 2, 30, 40),
		"xywh=1,2,29,38": image.Rect(1, 2, 30, 40)} {
		if got, err := Box(&store.Item{Columns: map[string]any{Part: text}}); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"xywh=1,2,3", "1,2,3,4", "(1,2)-(3,4) and more", "xywh=percent:1,2,3,4"} {
		if got, err := Box(&store.Item{Columns: map[string]any{Part: text}}); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
