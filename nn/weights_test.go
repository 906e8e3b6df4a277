package nn_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/nn"
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
	if _, err := nn.Load(dir, nn.Options{}); !os.IsNotExist(err) {
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

func TestImport(t *testing.T) {
	spec, err := nn.Network("resnet18",
		nn.NetworkOptions{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 5, Multiple: 1. / 16})
	if err != nil {
		t.Fatal(err)
	}
	from, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := from.State()
	for i := range s.Tensors {
		s.Tensors[i].Name = "module.backbone." + s.Tensors[i].Name
	}
	s.Tensors = append(s.Tensors[1:], safetensors.Float32("head.weight", []int{1}, []float32{1}))
	fc := s.Tensor("module.backbone.fc.weight")
	*fc = safetensors.Float32(fc.Name, []int{1000, 32}, make([]float32, 32000))
	to, err := nn.New(spec, nn.Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	fresh := slices.Clone(to.Param("fc.weight").Value)
	r, err := to.Import(s, nn.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Missing, []string{"conv1.weight"}) || !slices.Equal(r.Unexpected, []string{"head.weight"}) ||
		len(r.MisShaped) != 1 || !strings.Contains(r.MisShaped[0], "[1000 32] in the file, [5 32] in the network") {
		t.Errorf("report %+v", r)
	}
	if len(r.Loaded) != len(to.Params())-2 || r.Complete() {
		t.Errorf("%d of %d loaded", len(r.Loaded), len(to.Params()))
	}
	if !slices.Equal(to.Param("layer4.1.bn2.weight").Value, from.Param("layer4.1.bn2.weight").Value) ||
		!slices.Equal(to.Param("fc.weight").Value, fresh) {
		t.Error("the wrong tensors were set")
	}
	if _, err := to.Import(&safetensors.File{Tensors: s.Tensors[len(s.Tensors)-1:]}, nn.ImportOptions{}); err == nil ||
		!strings.Contains(err.Error(), "1 tensors fit 0 of the 100 parameters") {
		t.Errorf("nothing fits: error %v", err)
	}
	r, err = to.Import(s, nn.ImportOptions{Rename: func(name string) string {
		rest, ok := strings.CutPrefix(name, "module.backbone.layer1.")
		if !ok {
			return ""
		}
		return "layer1." + rest
	}})
	if err != nil || len(r.Loaded) != 20 || len(r.Unexpected) != 0 {
		t.Errorf("renamed: %v, %+v", err, r)
	}
}

// TestImportChannels holds that a grey image gives the same embeddings to the
// network of one channel and, three times over, to that of three.
func TestImportChannels(t *testing.T) {
	for _, c := range []struct{ from, to int }{{3, 1}, {1, 3}} {
		nets := map[int]*nn.Net{}
		for _, ch := range []int{1, 3} {
			nets[ch], _, _ = setup(t, "conv4", 16, ch, 4, 1)
		}
		state := nets[c.from].State()
		if r, err := nets[c.to].Import(state, nn.ImportOptions{}); err != nil || len(r.MisShaped) != 1 {
			t.Errorf("without adapting: %v, %v", err, r)
		}
		r, err := nets[c.to].Import(state, nn.ImportOptions{AdaptInput: true})
		if err != nil || !r.Complete() || !slices.Equal(r.Adapted, []string{"conv1.weight"}) {
			t.Fatalf("%d to %d channels: %v, %v", c.from, c.to, err, r)
		}
		grey, colour := make([]float32, 256), make([]float32, 768)
		for i := range colour {
			grey[i/3] = float32(i/3%13) / 13
			colour[i] = grey[i/3]
		}
		a, b := nets[1].Infer(grey, 1).Data, nets[3].Infer(colour, 1).Data
		for i := range a {
			if math.Abs(float64(a[i]-b[i])) > 1e-5 {
				t.Errorf("%d to %d channels: output %d is %v for grey, %v for colour", c.from, c.to, i, a[i], b[i])
			}
		}
	}
}

// TestImportTimm renames torchvision's MobileNet to what timm calls its layers
// (taken from timm's mobilenetv2_100) and holds that every tensor finds home.
func TestImportTimm(t *testing.T) {
	spec, err := nn.Network("mobilenet_v2",
		nn.NetworkOptions{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 4, Multiple: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	from, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	timm := map[string]string{
		"features.0.0": "conv_stem", "features.0.1": "bn1", "features.18.0": "conv_head", "features.18.1": "bn2",
		"classifier.1":        "classifier",
		"features.1.conv.0.0": "blocks.0.0.conv_dw", "features.1.conv.0.1": "blocks.0.0.bn1",
		"features.1.conv.1": "blocks.0.0.conv_pw", "features.1.conv.2": "blocks.0.0.bn2",
	}
	feature := 2
	for stage, blocks := range []int{2, 3, 4, 3, 3, 1} {
		for block := range blocks {
			for theirs, ours := range map[string]string{"conv_pw": "0.0", "bn1": "0.1", "conv_dw": "1.0", "bn2": "1.1",
				"conv_pwl": "2", "bn3": "3"} {
				timm[fmt.Sprintf("features.%d.conv.%s", feature, ours)] = fmt.Sprintf("blocks.%d.%d.%s", stage+1, block,
					theirs)
			}
			feature++
		}
	}
	s := from.State()
	for i := range s.Tensors {
		name := s.Tensors[i].Name
		dot := strings.LastIndexByte(name, '.')
		if timm[name[:dot]] == "" {
			t.Fatalf("no name for %s", name)
		}
		s.Tensors[i].Name = timm[name[:dot]] + name[dot:]
	}
	to, err := nn.New(spec, nn.Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := to.Import(s, nn.ImportOptions{})
	if err != nil || !r.Complete() {
		t.Fatalf("%v, %v", err, r)
	}
	for i, p := range from.Params() {
		if !slices.Equal(p.Value, to.Params()[i].Value) {
			t.Errorf("%s got another tensor", p.Name)
		}
	}
}
