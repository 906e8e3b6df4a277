package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// TestProjected: the length of CLIP's embeddings is found in both layouts.
func TestProjected(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape []int
		want  int
	}{
		{"visual_projection.weight", []int{3, 5}, 3}, {"visual.proj", []int{5, 3}, 3}, {"proj", []int{5, 3}, 3},
		{"proj", []int{15}, 0}, {"head.weight", []int{3, 5}, 0},
	} {
		f := &safetensors.File{Tensors: []safetensors.Tensor{safetensors.Float32(c.name, c.shape, make([]float32, 15))}}
		if got := projectionLen(f); got != c.want {
			t.Errorf("%s %v: %d, want %d", c.name, c.shape, got, c.want)
		}
	}
}

// TestJoint: a network without a projection is as Pretrained makes it, and one with a projection that does not fit is
// an error.
func TestJoint(t *testing.T) {
	const network = "mobilenet_v3_small"
	spec, err := zoo.Network(network, zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Stem: zoo.StemLarge,
		NoHead: true})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "w.safetensors")
	write := func(f *safetensors.File) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(net.State())
	data := DataConfig{Size: 32}
	a, err := LoadPretrained(network, path, data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := LoadTextImage(network, path, data)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 32*32*3)
	for i := range x {
		x[i] = float32(i%17) / 8
	}
	if got, want := b.Net.Infer(x, 1).Data, a.Net.Infer(x, 1).Data; !slices.Equal(got, want) {
		t.Error("other embeddings")
	}
	f := net.State()
	f.Tensors = append(f.Tensors, safetensors.Float32("visual_projection.weight", []int{2, 3}, make([]float32, 6)))
	write(f)
	if _, err := LoadTextImage(network, path, data); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Error(err)
	}
}
