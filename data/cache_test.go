package data

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
)

func TestCache(t *testing.T) {
	l := cubFiles(t, " ")
	l["images/002.Owl/c.jpg"] = picture(t, 40, 20, 99)
	dir := l.folder(t)
	d := open(t, dir)
	cache := filepath.Join(t.TempDir(), "cache")
	calls := 0
	opt := CacheOptions{Dir: cache, Side: 10, Progress: func(done, total int) { calls++ }}
	c, err := d.Cache(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if calls == 0 {
		t.Error("no progress")
	}
	var a, b imaging.Image
	var dec imaging.Decoder
	for i := range d.Len() {
		if err := errors.Join(d.Image(i, &a, &dec), c.Image(i, &b, &dec)); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if b.W != 20 || b.H != 10 || b.C != 1 || slices.Max(b.Pix) != 99 || slices.Min(b.Pix) != 99 {
				t.Errorf("reduced to %d x %d", b.W, b.H)
			}
		} else if !slices.Equal(a.Pix, b.Pix) {
			t.Errorf("image %d differs", i)
		}
	}

	// The second time it is only opened, and a change of a file is noticed.
	calls = 0
	if _, err := d.Cache(t.Context(), opt); err != nil || calls != 0 {
		t.Errorf("made again: %d, %v", calls, err)
	}
	changed := filepath.Join(dir, "images", "001.Gull", "a.jpg")
	if err := os.Chtimes(changed, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Cache(t.Context(), opt); err != nil || calls == 0 {
		t.Errorf("a changed file was not noticed: %v", err)
	}

	// A damaged cache is made again.
	found, _ := filepath.Glob(filepath.Join(cache, "*.pack"))
	for _, f := range found {
		if err := os.Truncate(f, 100); err != nil {
			t.Fatal(err)
		}
	}
	calls = 0
	if _, err := d.Cache(t.Context(), opt); err != nil || calls == 0 {
		t.Errorf("a damaged cache: %v", err)
	}
}

func TestSelectedCache(t *testing.T) {
	d := open(t, cubFiles(t, " ").folder(t))
	s, err := d.Select(Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Cache(t.Context(), CacheOptions{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if s.Train.Data == d || s.Train.Data != s.Query.Data || s.Query != s.Gallery {
		t.Error("the parts are not on the cached set")
	}
	l := newLoader(t, s.Train, LoaderConfig{})
	if h, w, c := l.Shape(); h != 8 || w != 8 || c != 3 {
		t.Errorf("shape %d %d %d", h, w, c)
	}
}

func TestCacheOfBoxes(t *testing.T) {
	l := cubFiles(t, " ")
	l["bounding_boxes.txt"] = []byte("1 1 2 3 4\n2 0 0 8 8\n3 2 2 5 5\n4 0 0 4 4\n")
	d, err := Open(l.folder(t), OpenOptions{Crop: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Cache(t.Context(), CacheOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var im imaging.Image
	if err := c.Image(0, &im, nil); err != nil || im.W != 3 || im.H != 4 || c.Boxes != nil {
		t.Errorf("%d x %d %v", im.W, im.H, err)
	}
}

func TestCacheOfCorruptFiles(t *testing.T) {
	l := cubFiles(t, " ")
	l["images/001.Gull/b.jpg"] = []byte("not an image")
	d := open(t, l.folder(t))
	dir := t.TempDir()
	if _, err := d.Cache(t.Context(), CacheOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), filepath.Join("001.Gull", "b.jpg")) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	c, err := d.Cache(t.Context(), CacheOptions{Dir: dir, SkipCorrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	var im imaging.Image
	if err := c.Image(1, &im, nil); err == nil || !strings.Contains(err.Error(), "b.jpg: could not be read") {
		t.Errorf("%v", err)
	}
	if err := c.Image(0, &im, nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Cache(ctx, CacheOptions{Dir: t.TempDir(), SkipCorrupt: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestCacheOfMemoryIsTheSet(t *testing.T) {
	dir := t.TempDir()
	writeIdx(t, dir, []byte{7, 2, 7}, []byte{2, 9})
	d := open(t, dir)
	if c, err := d.Cache(t.Context(), CacheOptions{Dir: filepath.Join(dir, "cache")}); err != nil || c != d {
		t.Errorf("%v", err)
	}
}

// TestCacheRemovesWhatAKilledBuildLeft on the way to its own.
func TestCacheRemovesWhatAKilledBuildLeft(t *testing.T) {
	d := open(t, cubFiles(t, " ").folder(t))
	cache := t.TempDir()
	left := filepath.Join(cache, ".kindred-0123456789abcdef.tmp")
	if err := os.WriteFile(left, []byte("half of a cache"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Cache(t.Context(), CacheOptions{Dir: cache}); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(cache); len(files) != 1 || files[0].Name() == filepath.Base(left) {
		t.Errorf("the folder holds %v", files)
	}
}
