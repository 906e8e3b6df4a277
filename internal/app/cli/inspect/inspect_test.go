package inspect

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
)

// drawScene draws a picture that depends on seed, at w x h pixels.
func drawScene(w, h int, seed float64) image.Image {
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			u, v := float64(x)/float64(w), float64(y)/float64(h)
			im.Set(x, y, color.RGBA{uint8(127 + 120*math.Sin(seed*7*u+seed)), uint8(127 + 120*math.Sin(seed*5*v+3*u)),
				uint8(40 * seed), 255})
		}
	}
	return im
}

func encodePNG(im image.Image) []byte {
	var b bytes.Buffer
	png.Encode(&b, im)
	return b.Bytes()
}

func encodeJPEG(im image.Image) []byte {
	var b bytes.Buffer
	jpeg.Encode(&b, im, &jpeg.Options{Quality: 92})
	return b.Bytes()
}

func openFiles(t *testing.T, files map[string][]byte) *data.Dataset {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := data.Open(t.Context(), dir, data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sampleSet(t *testing.T) *data.Dataset {
	return openFiles(t, map[string][]byte{
		"train/cat/1.png":      encodePNG(drawScene(40, 30, 1)),
		"train/cat/2.png":      encodePNG(drawScene(50, 50, 2)),
		"train/cat/broken.png": encodePNG(drawScene(20, 20, 3))[:200],
		"train/dog/again.png":  encodePNG(drawScene(40, 30, 1)), // cat/1 under another label
		"train/dog/flat.png":   encodePNG(image.NewGray(image.Rect(0, 0, 9, 9))),
		"train/dog/flat2.png":  encodePNG(image.NewGray(image.Rect(0, 0, 12, 9))),
		"test/cat/small.jpg":   encodeJPEG(drawScene(100, 100, 2)), // cat/2 at another size
		"test/owl/text.jpg":    []byte("not an image"),
	})
}

func TestInspect(t *testing.T) {
	d := sampleSet(t)
	last := 0
	r, err := Inspect(t.Context(), d, Options{Progress: func(done, _ int) { last = done }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Samples != 8 || last != 8 || !reflect.DeepEqual(r.Splits, map[string]int{"train": 6, "test": 2}) ||
		r.Disjoint {
		t.Errorf("%+v", r)
	}
	want := []Labels{{Column: "class", Role: "fine", Train: true,
		Classes: []Class{{1, "cat", 4}, {2, "dog", 3}, {3, "owl", 1}}, Singletons: 1}}
	if !reflect.DeepEqual(r.Labels, want) {
		t.Errorf("%+v", r.Labels)
	}
	im := r.Images
	if im.Width != [3]int{9, 40, 100} || im.Height != [3]int{9, 30, 100} || im.Grey != 2 || im.Color != 4 {
		t.Errorf("%+v", im)
	}
	if len(im.Unreadable) != 2 || !strings.Contains(im.Unreadable[0].Error, "text.jpg") ||
		!strings.Contains(im.Unreadable[1].Error, "broken.png") {
		t.Errorf("%+v", im.Unreadable)
	}
	wantGroups := []Group{
		{Names: []string{"train/cat/1.png", "train/dog/again.png"}, Labels: []string{"cat", "dog"}, Conflict: true},
		{Names: []string{"test/cat/small.jpg", "train/cat/2.png"}, Labels: []string{"cat", "cat"}, Near: true,
			Leak: true},
	}
	if !reflect.DeepEqual(im.Duplicates, wantGroups) {
		t.Errorf("%+v", im.Duplicates)
	}

	if r, err = Inspect(t.Context(), d, Options{SkipImages: true}); err != nil || r.Images != nil {
		t.Errorf("%+v %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Inspect(ctx, d, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestContact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sheet.png")
	if err := WriteContactSheet(t.Context(), path, sampleSet(t), 2, 3); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	im, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if im.Bounds().Dx() != margin+3*(cell+gap) || im.Bounds().Dy() != 2*(cell+gap)+gap {
		t.Errorf("%v", im.Bounds())
	}
	inked := 0
	for x := range margin {
		if r, _, _, _ := im.At(x, gap+cell/2).RGBA(); r == 0 {
			inked++
		}
	}
	if inked == 0 {
		t.Error("the class has no name on the sheet")
	}
	if r, g, b, _ := im.At(margin+cell/2, gap+cell/2).RGBA(); r == 0xffff && g == 0xffff && b == 0xffff {
		t.Error("the first cell is blank")
	}
}

func TestEvenly(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want []int
	}{{0, 3, []int{}}, {2, 3, []int{0, 1}}, {10, 3, []int{0, 3, 6}}, {4, 4, []int{0, 1, 2, 3}}} {
		if got := pickEvenly(c.n, c.k); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d of %d: %v", c.k, c.n, got)
		}
	}
}

// TestWithoutLabels: a set without labels has a report and a sheet, of several rows if
// it has more images than columns.
func TestWithoutLabels(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.png", "b.png", "c.png", "d.png", "e.png"} {
		var b bytes.Buffer
		if err := png.Encode(&b, drawScene(20, 20, 1)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Inspect(t.Context(), d, Options{})
	if err != nil || r.Samples != 5 || r.Labels == nil || len(r.Labels) != 0 || len(r.Images.Duplicates) != 1 ||
		len(r.Images.Duplicates[0].Labels) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for cols, rows := range map[int]int{2: 3, 3: 2, 9: 1} {
		path := filepath.Join(dir, "sheet.out")
		if err := WriteContactSheet(t.Context(), path, d, 4, cols); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		im, err := png.Decode(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if want := image.Pt(margin+min(cols, 5)*(cell+gap), rows*(cell+gap)+gap); im.Bounds().Size() != want {
			t.Errorf("%d columns: %v, want %v", cols, im.Bounds(), want)
		}
	}
}

// failingSource is a source that is out of reach.
type failingSource struct{}

func (failingSource) Shape() (w, h, c int) { return 0, 0, 0 }
func (failingSource) Read(context.Context, int, *imaging.Image, *imaging.Decoder) error {
	return &data.SourceError{Err: errors.New("no route to host")}
}

// TestSourceFails: a source that fails as a whole is an error, and not a set of
// unreadable images.
func TestSourceFails(t *testing.T) {
	d := &data.Dataset{Name: "x", Names: []string{"a", "b"}, Source: failingSource{}}
	if _, err := Inspect(t.Context(), d, Options{}); err == nil || err.Error() != "no route to host" {
		t.Errorf("%v", err)
	}
}
