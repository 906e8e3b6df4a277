package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// TestPublished: a folder of Hugging Face is a network, CLIP's with its projection, and says how images are prepared.
func TestPublished(t *testing.T) {
	spec, err := zoo.Network("clip_vit_b32", zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Width: 64, Patch: 8,
		Depth: 2, Dim: 12})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 8})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	weights := func(tensors []safetensors.Tensor) {
		var b bytes.Buffer
		if err := (&safetensors.File{Tensors: tensors}).Write(&b); err != nil {
			t.Fatal(err)
		}
		write("model.safetensors", b.String())
	}
	all := netcases.HuggingFaceCLIP(net)
	weights(all)
	if _, _, err := Import(dir, "", DataConfig{}); err == nil || PublishedFiles(dir) != nil ||
		!strings.Contains(err.Error(), "config.json and model.safetensors") {
		t.Error(err)
	}
	write("config.json", `{"model_type": "clip", "vision_config": {"image_size": 32}}`)
	m, notes, err := Import(dir, "", DataConfig{})
	if err != nil || len(PublishedFiles(dir)) != 2 {
		t.Fatal(err)
	}
	if d := m.Config.Data; d.Size != 32 || d.Pixels != defaultPixels || len(notes) != 1 ||
		!strings.Contains(notes[0], "does not state the range") {
		t.Errorf("%+v, %q", d, notes)
	}
	x := make([]float32, 32*32*3)
	for i := range x {
		x[i] = float32(i%13)/6 - 1
	}
	want := slices.Clone(net.Infer(x, 1).Data)
	if got := m.Net.Infer(x, 1).Data; len(got) != 12 || !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	write("preprocessor_config.json", `{"do_normalize": true, "image_mean": [0.5, 0.5, 0.5],`+
		`"image_std": [0.5, 0.5, 0.5], "crop_size": 32, "do_center_crop": true, "size": {"shortest_edge": 40}, "resample": 2}`)
	if m, notes, err = Import(dir, "", DataConfig{}); err != nil || len(notes) != 0 ||
		m.Config.Data.Pixels == defaultPixels || m.Config.Data.Shorter != 40 || m.Config.Data.Fit != "cover" {
		t.Errorf("%+v, %q, %v", m.Config.Data, notes, err)
	}
	// It is saved and loaded as any model.
	saved := t.TempDir()
	if err := m.Save(saved); err != nil {
		t.Fatal(err)
	}
	again, err := Load(saved)
	if err != nil {
		t.Fatal(err)
	}
	if !identity(t, again).IsSame(identity(t, m)) {
		t.Error("another fingerprint after saving")
	}
	if got := again.Net.Infer(x, 1).Data; !slices.Equal(got, want) {
		t.Error("other embeddings after saving")
	}
	weights(all[:len(all)/2])
	_, _, err = Import(dir, "", DataConfig{})
	if err == nil || !strings.Contains(err.Error(), "model.safetensors") {
		t.Error(err)
	}
}
