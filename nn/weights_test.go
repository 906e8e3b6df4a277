package nn_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

func TestSaveAndLoad(t *testing.T) {
	for _, name := range []string{"mnist", "conv4", "mobilenet_v2"} {
		net, x, g := setup(t, name, 34, 3, 6, 4)
		net.Forward(x, 4)
		net.Backward(g)
		net.Spec().Meta = map[string]string{"classes": "a,b"}
		dir := t.TempDir()
		if err := net.Save(dir); err != nil {
			t.Fatal(err)
		}
		back, err := nn.Load(dir, nn.Options{Seed: 99})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range net.Params() {
			q := back.Params()[i]
			if p.Name != q.Name || !slices.Equal(p.Value, q.Value) {
				t.Errorf("%s: %s did not come back", name, p.Name)
			}
		}
		if !slices.Equal(net.Infer(x, 4).Data, back.Infer(x, 4).Data) {
			t.Errorf("%s: other embeddings after loading", name)
		}
		if back.Spec().Meta["classes"] != "a,b" {
			t.Errorf("%s: metadata %v", name, back.Spec().Meta)
		}
	}
}

// TestLayoutOnDisk holds PyTorch's layout by hand: out, in, row, column, and
// dense weights after a channel-first flatten.
func TestLayoutOnDisk(t *testing.T) {
	spec := &nn.Spec{Name: "s", Input: nn.Shape{H: 2, W: 3, C: 2}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "c", Out: 2, Kernel: 1, NoBias: true}, {Kind: nn.Flatten},
		{Kind: nn.Dense, Name: "d", Out: 1, NoBias: true},
	}}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The convolution swaps the channels; the dense layer picks channel 1, row 1, column 2.
	dense := make([]float32, 12)
	dense[1*6+1*3+2] = 1
	err = net.SetState(&safetensors.File{Tensors: []safetensors.Tensor{
		safetensors.Float32("c.weight", []int{2, 2, 1, 1}, []float32{0, 1, 1, 0}),
		safetensors.Float32("d.weight", []int{1, 12}, dense),
	}})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 12)
	for i := range x {
		x[i] = float32(i)
	}
	// Input channel 0 at row 1, column 2, channels last: (1*3+2)*2.
	if got := net.Infer(x, 1).Data[0]; got != 10 {
		t.Errorf("output %v, want 10", got)
	}
}

func TestSetStateRejects(t *testing.T) {
	net, _, _ := setup(t, "mnist", 12, 1, 2, 1)
	change := func(f func(*safetensors.File)) error {
		s := net.State()
		f(s)
		return net.SetState(s)
	}
	before := slices.Clone(net.Params()[0].Value)
	nan := safetensors.Float32("fc2.bias", []int{2}, []float32{0, float32(math.NaN())})
	cases := []struct {
		name, want string
		f          func(*safetensors.File)
	}{
		{"missing", "missing: conv1.weight", func(s *safetensors.File) { s.Tensors = s.Tensors[1:] }},
		{"unexpected", "unexpected: extra", func(s *safetensors.File) {
			s.Tensors = append(s.Tensors, safetensors.Float32("extra", []int{1}, []float32{1}))
		}},
		{"shape", "fc2.bias: [1 2] in the file, [2] in the network",
			func(s *safetensors.File) { s.Tensor("fc2.bias").Shape = []int{1, 2} }},
		{"NaN", "fc2.bias holds NaN", func(s *safetensors.File) { *s.Tensor("fc2.bias") = nan }},
		{"integers", "not floating-point", func(s *safetensors.File) {
			*s.Tensor("fc2.bias") = safetensors.Int64("fc2.bias", []int{2}, []int64{1, 2})
		}},
	}
	for _, c := range cases {
		s := net.State()
		for i := range s.Tensors[0].Data {
			s.Tensors[0].Data[i] = 0
		}
		err := change(func(f *safetensors.File) { copy(f.Tensors, s.Tensors); c.f(f) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if !slices.Equal(before, net.Params()[0].Value) {
			t.Fatalf("%s: an error changed the network", c.name)
		}
	}
	if err := change(func(s *safetensors.File) {
		s.Tensors = append(s.Tensors, safetensors.Int64("bn.num_batches_tracked", nil, []int64{4}))
	}); err != nil {
		t.Errorf("PyTorch's counter: %v", err)
	}
}

func TestLoadRejects(t *testing.T) {
	net, _, _ := setup(t, "mnist", 12, 1, 2, 1)
	dir := t.TempDir()
	if _, err := nn.Load(dir, nn.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folder: error %v", err)
	}
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(dir, nn.WeightsFile)
	data, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(weights, data[:len(data)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := nn.Load(dir, nn.Options{}); err == nil || !strings.Contains(err.Error(), weights) ||
		!strings.Contains(err.Error(), "truncated") {
		t.Errorf("truncated weights: error %v", err)
	}
	if err := net.Save(filepath.Join(dir, "none")); err == nil {
		t.Error("saved into a folder that is not there")
	}
}
