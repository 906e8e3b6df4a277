package data

import (
	"bytes"
	"context"
	"errors"
	"image/color"
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
		if err := errors.Join(d.Image(t.Context(), i, &a, &dec), c.Image(t.Context(), i, &b, &dec)); err != nil {
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

	// The second time it is only opened, whatever the times of the files are.
	calls = 0
	changed := filepath.Join(dir, "images", "001.Gull", "a.jpg")
	before, err := os.Stat(changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(changed, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	again, err := d.Cache(t.Context(), opt)
	if err != nil || calls != 0 {
		t.Errorf("made again: %d, %v", calls, err)
	}

	// Other content is noticed, also under the same size and time.
	old, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	other := append(bytes.Clone(colorPicture(t, 8, 8, color.RGBA{77, 200, 100, 255})),
		make([]byte, len(old))...)[:len(old)]
	if err := errors.Join(os.WriteFile(changed, other, 0o644),
		os.Chtimes(changed, before.ModTime(), before.ModTime())); err != nil {
		t.Fatal(err)
	}
	fresh, err := d.Cache(t.Context(), opt)
	if err != nil || calls == 0 {
		t.Fatalf("a changed file was not noticed: %v", err)
	}
	if err := fresh.Image(t.Context(), 0, &b, &dec); err != nil || b.Pix[0] != 77 {
		t.Errorf("pixel %d, %v; want that of the new file", b.Pix[0], err)
	}
	for _, set := range []*Dataset{c, again, fresh} {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
		if err := set.Image(t.Context(), 0, &b, &dec); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A cache that was cut short is made again.
func TestTruncatedCache(t *testing.T) {
	d := open(t, cubFiles(t, " ").folder(t))
	calls := 0
	opt := CacheOptions{Dir: t.TempDir(), Progress: func(done, total int) { calls++ }}
	for want := range 2 {
		c, err := d.Cache(t.Context(), opt)
		if err != nil || calls != want+1 {
			t.Fatalf("made %d times: %v", calls, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(opt.Dir, "*.pack"))
		if len(found) != 1 {
			t.Fatal(found)
		}
		if err := os.Truncate(found[0], 100); err != nil {
			t.Fatal(err)
		}
	}
}

// A pixel that changes in the file of the cache is an error where it is read,
// and costs nothing else.
func TestDamagedCache(t *testing.T) {
	d := open(t, cubFiles(t, " ").folder(t))
	dir := t.TempDir()
	c, err := d.Cache(t.Context(), CacheOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	found, err := filepath.Glob(filepath.Join(dir, "*.pack"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	b[8*8*3+5] ^= 4 // the second image
	if err := os.WriteFile(found[0], b, 0o644); err != nil {
		t.Fatal(err)
	}
	var im imaging.Image
	for i := range d.Len() {
		err := c.Image(t.Context(), i, &im, nil)
		if i != 1 && err != nil {
			t.Errorf("image %d: %v", i, err)
		}
		if i == 1 && (err == nil || !strings.Contains(err.Error(), "images/001.Gull/b.jpg") ||
			!strings.Contains(err.Error(), found[0]) || !strings.Contains(err.Error(), "checksum")) {
			t.Errorf("the damaged image: %v", err)
		}
	}
}

// Archives are told apart by the checksums that they store.
func TestCacheOfArchives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "birds.zip")
	dir := t.TempDir()
	packs := func(content uint8) int {
		write(t, path, layoutFiles{"a/1.png": picture(t, 3, 3, content), "b/2.png": picture(t, 3, 3, 1),
			"c/3.png": picture(t, 3, 3, 1)}.zip(t))
		d := open(t, path)
		c, err := d.Cache(t.Context(), CacheOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		var im imaging.Image
		if err := c.Image(t.Context(), 0, &im, nil); err != nil || im.Pix[0] != content {
			t.Errorf("%v %v", im.Pix, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		found, _ := filepath.Glob(filepath.Join(dir, "*.pack"))
		return len(found)
	}
	if a, b, again := packs(5), packs(6), packs(5); a != 1 || b != 2 || again != 2 {
		t.Errorf("%d, %d, %d files", a, b, again)
	}
}

func TestCacheOfBoxes(t *testing.T) {
	l := cubFiles(t, " ")
	l["bounding_boxes.txt"] = []byte("1 1 2 3 4\n2 0 0 8 8\n3 2 2 5 5\n4 0 0 4 4\n")
	d, err := Open(t.Context(), l.folder(t), OpenOptions{Crop: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Cache(t.Context(), CacheOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var im imaging.Image
	if err := c.Image(t.Context(), 0, &im, nil); err != nil || im.W != 3 || im.H != 4 || c.Boxes != nil {
		t.Errorf("%d x %d %v", im.W, im.H, err)
	}
}

func TestCacheOfCorruptFiles(t *testing.T) {
	l := cubFiles(t, " ")
	l["images/001.Gull/b.jpg"] = []byte("not an image")
	d := open(t, l.folder(t))
	dir := t.TempDir()
	if _, err := d.Cache(t.Context(), CacheOptions{Dir: dir, Strict: true}); err == nil ||
		!strings.Contains(err.Error(), filepath.Join("001.Gull", "b.jpg")) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	c, err := d.Cache(t.Context(), CacheOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var im imaging.Image
	err = c.Image(t.Context(), 1, &im, nil)
	if err == nil || !strings.Contains(err.Error(), "b.jpg: not an image of a known format") {
		t.Errorf("%v", err)
	}
	if err := c.Image(t.Context(), 0, &im, nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Cache(ctx, CacheOptions{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
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
