package run

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/nn"
)

// randomImages draws pictures of several sizes.
func randomImages(n int) []image.Image {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([]image.Image, n)
	for i := range out {
		im := image.NewRGBA(image.Rect(0, 0, 8+rng.IntN(30), 8+rng.IntN(30)))
		for k := range im.Pix {
			im.Pix[k] = uint8(rng.IntN(256))
			if k%4 == 3 {
				im.Pix[k] = 255
			}
		}
		out[i] = im
	}
	return out
}

// newUntrainedModel returns a small convolutional network with its preparation.
func newUntrainedModel(t *testing.T) *Model {
	t.Helper()
	spec := &nn.Spec{Input: nn.Shape{H: 12, W: 12, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "c", Out: 6, Kernel: 3, Pad: 1}, {Kind: nn.ReLU}, {Kind: nn.GlobalAvgPool},
		{Kind: nn.Dense, Name: "fc", Out: 5}, {Kind: nn.L2Normalize}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	cfg.Data.Size = 12
	return &Model{Config: cfg, Net: net}
}

// TestEmbedConcurrently: embeddings by many goroutines, of images, of files and of a part, are those of one image
// after the other, bit by bit, and the images do not change.
func TestEmbedConcurrently(t *testing.T) {
	m := newUntrainedModel(t)
	images := randomImages(40)
	dir := t.TempDir()
	var files [][]byte
	var want [][]float32
	for i, im := range images {
		var file bytes.Buffer
		if err := png.Encode(&file, im); err != nil {
			t.Fatal(err)
		}
		files = append(files, file.Bytes())
		if err := os.WriteFile(filepath.Join(dir, string(rune('A'+i))+".png"), file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := m.Embed(t.Context(), im)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, slices.Clone(x.Row(0)))
	}
	before := slices.Clone(images[7].(*image.RGBA).Pix)
	d, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			if g%16 == 0 {
				e, err := m.EmbedPart(t.Context(), d.All())
				if err != nil {
					t.Error(err)
					return
				}
				for row, pos := range e.Pos {
					if i := int(d.Names[pos][0] - 'A'); !slices.Equal(e.X.Row(row), want[i]) {
						t.Errorf("image %d of a part is %v, want %v", i, e.X.Row(row), want[i])
					}
				}
				return
			}
			for k := range 20 {
				i := (7*g + k) % len(images)
				x, err := m.Embed(t.Context(), images[i])
				if g%2 == 0 {
					x, err = m.EmbedFiles(t.Context(), files[i])
				}
				if err != nil || !slices.Equal(x.Row(0), want[i]) {
					t.Errorf("image %d is %v, want %v: %v", i, x, want[i], err)
				}
			}
			if x, err := m.Embed(t.Context(), images...); err != nil || !slices.Equal(x.Row(39), want[39]) ||
				!slices.Equal(x.Row(0), want[0]) {
				t.Errorf("all at once: %v", err)
			}
		})
	}
	all.Wait()
	if !slices.Equal(before, images[7].(*image.RGBA).Pix) {
		t.Error("an image was changed")
	}
}

// unreadableImage is an image whose pixels cannot be read.
type unreadableImage struct{ image.Gray }

func (*unreadableImage) At(x, y int) color.Color { panic("no pixel") }

// TestEmbedErrors: an image that cannot be embedded is named, the others of its call get no embeddings, and the model
// goes on.
func TestEmbedErrors(t *testing.T) {
	m := newUntrainedModel(t)
	good := randomImages(3)
	ended, end := context.WithCancel(t.Context())
	end()
	unreadable := &unreadableImage{*image.NewGray(image.Rect(0, 0, 3, 3))}
	for name, c := range map[string]struct {
		ctx    context.Context
		images []image.Image
		want   string
	}{
		"no image":      {t.Context(), []image.Image{good[0], nil}, "image 1 of 2: no image"},
		"no pixels":     {t.Context(), []image.Image{image.NewRGBA(image.Rectangle{})}, "0 x 0"},
		"a panic":       {t.Context(), []image.Image{unreadable}, "internal error while reading the image: no pixel"},
		"ended context": {ended, good, "canceled"},
	} {
		if _, err := m.Embed(c.ctx, c.images...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for file, want := range map[string]string{"": "empty", "GIF89a": "GIF", "text": "not an image"} {
		if _, err := m.EmbedFiles(t.Context(), []byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("file %q: %v, want %q", file, err, want)
		}
	}
	if x, err := m.Embed(t.Context()); err != nil || x.Rows != 0 {
		t.Errorf("no images: %v, %v", x, err)
	}
	if x, err := m.Embed(t.Context(), good...); err != nil || x.Rows != 3 {
		t.Errorf("afterwards: %v, %v", x, err)
	}
	// A call ends while a part has the network.
	waits, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := m.getEmbedder().Exclusive(t.Context(), func() error {
		_,
			err := m.Embed(waits, good[0])
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the network is busy: %v", err)
	}
}
