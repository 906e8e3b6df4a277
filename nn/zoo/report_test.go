package zoo_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

func TestImport(t *testing.T) {
	spec, err := zoo.Network("resnet18",
		zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 5, Multiple: 1. / 16})
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
	r, err := zoo.Import(to, s, zoo.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Missing, []string{"conv1.weight"}) || !slices.Equal(r.Unexpected, []string{"head.weight"}) ||
		len(r.MisShaped) != 1 || !strings.Contains(r.MisShaped[0], "[1000 32] in the file, [5 32] in the network") {
		t.Errorf("report %+v", r)
	}
	if len(r.Loaded) != len(to.Params())-2 || r.IsComplete() {
		t.Errorf("%d of %d loaded", len(r.Loaded), len(to.Params()))
	}
	if !slices.Equal(to.Param("layer4.1.bn2.weight").Value, from.Param("layer4.1.bn2.weight").Value) ||
		!slices.Equal(to.Param("fc.weight").Value, fresh) {
		t.Error("the wrong tensors were set")
	}
	last := &safetensors.File{Tensors: s.Tensors[len(s.Tensors)-1:]}
	if _, err := zoo.Import(to, last, zoo.ImportOptions{}); err == nil ||
		!strings.Contains(err.Error(), "1 tensors fit 0 of the 100 parameters") {
		t.Errorf("nothing fits: error %v", err)
	}
	r, err = zoo.Import(to, s, zoo.ImportOptions{Rename: func(name string) string {
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
			spec, err := zoo.Network("conv4",
				zoo.Options{Input: nn.Shape{H: 16, W: 16, C: ch}, Dim: 4, Normalize: true})
			if err != nil {
				t.Fatal(err)
			}
			if nets[ch], err = nn.New(spec, nn.Options{Seed: 1}); err != nil {
				t.Fatal(err)
			}
		}
		state := nets[c.from].State()
		if r, err := zoo.Import(nets[c.to], state, zoo.ImportOptions{}); err != nil || len(r.MisShaped) != 1 {
			t.Errorf("without adapting: %v, %v", err, r)
		}
		r, err := zoo.Import(nets[c.to], state, zoo.ImportOptions{AdaptInput: true})
		if err != nil || !r.IsComplete() || !slices.Equal(r.Adapted, []string{"conv1.weight"}) {
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
	spec, err := zoo.Network("mobilenet_v2",
		zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 4, Multiple: 0.1})
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
	r, err := zoo.Import(to, s, zoo.ImportOptions{})
	if err != nil || !r.IsComplete() {
		t.Fatalf("%v, %v", err, r)
	}
	for i, p := range from.Params() {
		if !slices.Equal(p.Value, to.Params()[i].Value) {
			t.Errorf("%s got another tensor", p.Name)
		}
	}
}
