package serve

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run"
)

// TestNetworkPreparesAsEmbedDoes uploads a photo much larger than the network's
// images, and one of their size: both have the embedding that the same file has in
// a folder.
func TestNetworkPreparesAsEmbedDoes(t *testing.T) {
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
	m := &run.Model{Config: cfg, Net: net}
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
		want, err := m.Embed(t.Context(), d.All())
		if err != nil {
			t.Fatal(err)
		}
		n := Network(m)
		for range 2 { // a decoder of its own, and one that was used
			picture, err := n.Decode(t.Context(), file.Bytes(), 1<<20)
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
