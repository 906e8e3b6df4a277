package photo

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
)

// writeFolder writes a set of two classes with a large, a small and a broken picture.
func writeFolder(t *testing.T) (dir string, d *data.Dataset) {
	t.Helper()
	dir = t.TempDir()
	for name, size := range map[string]image.Point{"a/large.png": {900, 300}, "b/small.png": {20, 10}} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		im := image.NewNRGBA(image.Rectangle{Max: size})
		for i := range im.Pix {
			im.Pix[i] = 255
		}
		im.Set(0, 0, color.NRGBA{200, 0, 0, 255})
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := png.Encode(f, im); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "b", "broken.png"), []byte("\x89PNG\r\n\x1a\nno"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := data.Open(context.Background(), dir, data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return dir, d
}

func TestReadersReduce(t *testing.T) {
	dir, d := writeFolder(t)
	ctx := context.Background()
	names := []string{"a/large.png", "b/small.png", "b/broken.png", "c/none.png"}
	ofSet, err := NewReader(ctx, d, names)
	if err != nil {
		t.Fatal(err)
	}
	var files []embedding.Item
	for _, n := range names {
		files = append(files, embedding.Item{Path: filepath.Join(dir, filepath.FromSlash(n))})
	}
	for what, read := range map[string]Reader{"set": ofSet, "files": NewFileReader(ctx, files...)} {
		for i, want := range []image.Point{{512, 170}, {20, 10}} {
			im, err := read(i)
			if err != nil || im.Bounds().Size() != want {
				t.Errorf("%s, item %d: %v, %v, want %v", what, i, im, err, want)
			}
		}
		for i := 2; i < 4; i++ {
			if _, err := read(i); err == nil || !strings.Contains(err.Error(), names[i][2:]) {
				t.Errorf("%s, item %d: error %v does not name the file", what, i, err)
			}
		}
	}
	// A picture keeps its pixels when the next one is read.
	first, err := ofSet(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ofSet(0); err != nil {
		t.Fatal(err)
	}
	if r, g, _, _ := first.At(0, 0).RGBA(); r>>8 != 200 || g != 0 {
		t.Errorf("the first pixel became %d, %d", r>>8, g>>8)
	}
}

func TestThumbs(t *testing.T) {
	_, d := writeFolder(t)
	names := []string{"b/small.png", "nowhere.png", "b/broken.png", "a/large.png"}
	th, missing, err := ReadThumbs(context.Background(), d, names, 0)
	if err != nil || missing != 2 || th.Side() != 96 {
		t.Fatalf("%d missing, side %d, %v", missing, th.Side(), err)
	}
	if th, _, err := ReadThumbs(context.Background(), d, make([]string, 40_000), 0); th != nil || err != nil {
		t.Errorf("40,000 thumbnails: %v, %v", th, err)
	}
	th, missing, err = ReadThumbs(context.Background(), d, names, time.Nanosecond)
	if err != nil || missing != 4 || th == nil {
		t.Errorf("without time: %d missing, %v", missing, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, _, err := ReadThumbs(ctx, d, []string{"b/small.png"}, 0); err == nil {
		t.Error("does not stop")
	}
}

func TestSpreadTakesEachOnce(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 1000} {
		order := spreadOrder(n)
		sorted := slices.Sorted(slices.Values(order))
		for i, v := range sorted {
			if i != v {
				t.Fatalf("of %d: %v", n, order)
			}
		}
		if len(order) != n || n == 1000 && (order[0] != 0 || order[1] != 64 || order[16] != 1) {
			t.Errorf("of %d: %v", n, order)
		}
	}
}

func TestLinks(t *testing.T) {
	dir, _ := writeFolder(t)
	page := filepath.Join(dir, "out", "page.html")
	names := []string{"a/large.png", "b/none.png", filepath.ToSlash(filepath.Join(dir, "b", "small.png"))}
	link := Links(page, dir, names)
	for i, want := range []string{"../a/large.png", "", "../b/small.png"} {
		if got := link(i); got != want {
			t.Errorf("item %d: %q, want %q", i, got, want)
		}
	}
	if got := PhotoFolder(page, dir, names); got != "../" {
		t.Errorf("folder %q", got)
	}
	if got := PhotoFolder(page, filepath.Join(dir, "a.zip"), names); got != "" {
		t.Errorf("folder of an archive: %q", got)
	}
}
