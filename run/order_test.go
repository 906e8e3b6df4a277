package run

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

// TestBlueByDefault: weights of bn_inception are given blue first unless told otherwise,
// and no other network's are.
func TestBlueByDefault(t *testing.T) {
	for _, c := range []struct{ network, pretrained, pixels, want string }{
		{"bn_inception", "file.pth", "", "bn_inception"}, {"bn_inception", "file.pth", "unit", "unit"},
		{"bn_inception", "", "", "unit"}, {"bn_inception", none, "", "unit"}, {"resnet50", "file.pth", "", "unit"},
	} {
		r := recipe{divided: &divided{started: &started{opened: &opened{cfg: Default(), data: photos(4, 12, 64)}}}}
		r.cfg.Network.Name, r.cfg.Network.Pretrained, r.cfg.Data.Pixels = c.network, c.pretrained, c.pixels
		if err := r.settleImages(); err != nil {
			t.Fatal(err)
		}
		told := said(r.notes, "data.pixels is") != ""
		if got := r.cfg.Data.Pixels; got != c.want || told != (got == "bn_inception" && c.pixels == "") {
			t.Errorf("%+v: %q, notes %q", c, got, r.notes)
		}
	}
}

// TestBlueFirst: a network whose pixels are bn_inception gets blue, green and red less
// their means, and what is exported of it says so, and is read again so. The network
// gives the mean of each channel.
func TestBlueFirst(t *testing.T) {
	dir := t.TempDir()
	picture := image.NewRGBA(image.Rect(0, 0, 4, 4))
	for k := range 16 {
		picture.Set(k%4, k/4, color.RGBA{R: 200, G: 117, B: 4, A: 255})
	}
	if err := os.Mkdir(filepath.Join(dir, "class"), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "class", "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, picture); err != nil {
		t.Fatal(err)
	}
	d, err := data.Open(t.Context(), dir, data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	net, err := nn.New(&nn.Spec{Name: "means", Input: nn.Shape{H: 4, W: 4, C: 3}, Layers: []nn.Layer{
		{Kind: nn.GlobalAvgPool}}, Meta: map[string]string{"pixels": "bn_inception"}}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := net.Save(folder); err != nil {
		t.Fatal(err)
	}
	saved, _, err := Import(folder, "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := saved.Preparation()
	if err != nil {
		t.Fatal(err)
	}
	if words := p.Words(saved.Net.Spec().Input); !p.BGR || p.Pixels != "bn_inception" || !slices.Equal(p.Mean,
		[]float32{104. / 255, 117. / 255, 128. / 255}) || !strings.HasPrefix(words, "BGR; ") {
		t.Errorf("%+v, in words %s", p, words)
	}
	m, err := onnxnet.Export(saved.Net, p)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := m.Write(file); err != nil {
		t.Fatal(err)
	}
	imported, _, err := Import(file.Name(), "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, model := range map[string]*Model{"saved": saved, "imported": imported} {
		e, err := model.Embed(t.Context(), d.All())
		if err != nil {
			t.Fatal(err)
		}
		for c, want := range []float64{4 - 104, 0, 200 - 128} {
			if got := float64(e.X.At(0, c)); math.Abs(got-want) > 1e-3 {
				t.Errorf("%s, %s: channel %d is %v, want %v", name, model.Config.Data.Pixels, c, got, want)
			}
		}
	}
}
