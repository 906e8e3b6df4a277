package serve

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
)

// smallModel returns an untrained network of images of 32 x 32.
func smallModel(t *testing.T) *run.Model {
	t.Helper()
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 8, Width: 4})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	cfg := run.Default()
	cfg.Data.Size, cfg.Data.Channels, cfg.Data.Fit, cfg.Data.Pixels, cfg.Data.Chroma = 32, 3, "cover", "symmetric",
		"smooth"
	return &run.Model{Config: cfg, Net: net}
}

// TestNetworkPreparesAsEmbedDoes uploads a photo much larger than the network's
// images, and one of their size: both have the embedding that the same file has in
// a folder.
func TestNetworkPreparesAsEmbedDoes(t *testing.T) {
	m := smallModel(t)
	if got := pictureSide(NetworkEmbedder(m)); got != 32 {
		t.Errorf("a side of %d", got)
	}
	cropped := m.Copy()
	if cropped.Config.Data.Shorter = 40; pictureSide(NetworkEmbedder(cropped)) != 40 {
		t.Error("the shorter side before cropping is no part of the side")
	}
	for _, size := range []int{32, 500} {
		im := image.NewRGBA(image.Rect(0, 0, size, size*3/4))
		for y := range size * 3 / 4 {
			for x := range size {
				im.SetRGBA(x, y, color.RGBA{uint8(x * y), uint8(255 * x / size), uint8(7 * y), 255})
			}
		}
		var file bytes.Buffer
		if err := jpeg.Encode(&file, im, nil); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.jpg"), file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := data.Open(t.Context(), dir, data.OpenOptions{Unlabelled: true})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		want, err := m.EmbedPart(t.Context(), d.All())
		if err != nil {
			t.Fatal(err)
		}
		n := NetworkEmbedder(m)
		for range 2 { // a decoder of its own, and one that was used
			p, err := imaging.Open(t.Context(), file.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			picture, err := n.Decode(t.Context(), p, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			got, err := n.Embed(t.Context(), []*imaging.Image{picture})
			if err != nil || !slices.Equal(got.Row(0), want.X.Row(0)) {
				t.Errorf("%d pixels: %v, uploaded %v, %v", size, want.X.Row(0), got.Row(0), err)
			}
		}
	}
}

// TestNetworkConcurrently: 1,280 calls of 64 goroutines, some of the network and some of the model, have the bits of
// one call after the other.
func TestNetworkConcurrently(t *testing.T) {
	m := smallModel(t)
	n := NetworkEmbedder(m)
	pictures := make([]*imaging.Image, 20)
	want := make([][]float32, len(pictures))
	for i := range pictures {
		pictures[i] = imaging.NewImage(20+i, 40-i, 3)
		for k := range pictures[i].Pix {
			pictures[i].Pix[k] = uint8(k * (i + 3))
		}
		x, err := n.Embed(t.Context(), pictures[i:i+1])
		if err != nil {
			t.Fatal(err)
		}
		want[i] = slices.Clone(x.Row(0))
	}
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for k := range 20 {
				i := (g + k) % len(pictures)
				x, err := n.Embed(t.Context(), pictures[i:i+1])
				if g%3 == 0 {
					x, err = m.Embed(t.Context(), pictures[i])
				}
				if err != nil || !slices.Equal(x.Row(0), want[i]) {
					t.Errorf("picture %d: %v, want %v: %v", i, x, want[i], err)
				}
			}
		})
	}
	all.Wait()
}

// shrinkingEmbedder is an embedder that looks at pictures of an eighth of their sides.
type shrinkingEmbedder struct{ colourEmbedder }

func (*shrinkingEmbedder) Shrink(w, h int) int { return 8 }

func (g *shrinkingEmbedder) Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error) {
	im := new(imaging.Image)
	return im, p.Decode(ctx, &imaging.Decoder{MaxPixels: maxPixels, Shrink: g.Shrink}, im)
}

// TestLargePhotograph: a photograph of 48 million pixels needs the memory of the picture that the
// network looks at, and no more pixels are refused than by any command.
func TestLargePhotograph(t *testing.T) {
	photo := encodeJPEG(t, image.NewGray(image.Rect(0, 0, 8000, 6000)))
	for name, c := range map[string]struct {
		embedder Embedder
		status   int
	}{"at a scale that fits": {&shrinkingEmbedder{}, 200}, "whole": {&colourEmbedder{}, 413}} {
		s := newServer(t, Options{Limits: Limits{Memory: 16 << 20},
			Collections: []Collection{{Name: "things", Store: newFilledStore(t, 5), Embedder: c.embedder}}})
		if a := (&caller{t: t, s: s}).form("POST", "/v1/search", photo); a.StatusCode != c.status {
			t.Errorf("%s: %d: %s", name, a.StatusCode, a.body)
		}
	}
}

// TestPicturesOfOtherFormats: the server has the same messages about a file as the commands.
func TestPicturesOfOtherFormats(t *testing.T) {
	// Under the race detector the first picture of a format waits long for the translation of its decoder.
	do := &caller{t: t, s: newServer(t, Options{Limits: Limits{Time: 10 * time.Minute}})}
	for want, file := range map[string]string{
		"no decoder for HEIC: 'kindred formats get heic' fetches": "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic",
		"damaged AVIF: the data are not valid, or end early":      "\x00\x00\x00\x18ftypavif\x00\x00\x00\x00mif1avif",
		"damaged JPEG XL: the data are not valid, or end early":   "\xff\x0a\x00\x00",
		"no decoder for PDF: convert the file to JPEG or PNG":     "%PDF-1.7",
		"lossless JPEG is not supported: convert the file to PNG": "\xff\xd8\xff\xc3\x00\x0b\x08\x00\x01\x00\x01\x01" +
			"\x01\x11\x00\xff\xda\x00\x00",
	} {
		a := do.form("POST", "/v1/search", []byte(file))
		if a.StatusCode != 422 || !strings.Contains(string(a.body), want) {
			t.Errorf("%d: %s, want %s", a.StatusCode, a.body, want)
		}
	}
}
