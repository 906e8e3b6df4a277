package onnxnet

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/published"
)

// values adds an initializer with the given values.
func (b *builder) values(shape []int64, v ...float32) string {
	name := b.floats()
	b.m.Graph.Initializers[len(b.m.Graph.Initializers)-1] = onnx.Floats(name, shape, v)
	return name
}

// colours adds one value for each channel of an image with channels first.
func (b *builder) colours(v ...float32) string {
	return b.values([]int64{1, int64(len(v)), 1, 1}, v...)
}

// The files beside a network.
const (
	processorFile = "preprocessor_config.json"
	configFile    = "config.json"
)

// opened adds the operators that a text names, one after the other, to the image: "sub 0.5",
// "div 58,57,57".
func (b *builder) opened(t *testing.T, text string) string {
	t.Helper()
	x := "x"
	for step := range strings.SplitSeq(text, "; ") {
		op, numbers, _ := strings.Cut(step, " ")
		var v []float32
		if numbers != "" {
			v = parseNumbers(t, numbers)
		}
		with := func(op string) string { return b.node(op, []string{x, b.colours(v...)}) }
		switch op {
		case "":
		case "from": // a constant minus the image
			x = b.node("Sub", []string{b.colours(v...), x})
		case "into": // a constant divided by the image
			x = b.node("Div", []string{b.colours(v...), x})
		case "cast":
			x = b.node("Cast", []string{x}, "to", 1)
		case "neg":
			x = b.node("Neg", []string{x})
		case "last":
			x = b.node("Transpose", []string{x}, "perm", []int64{0, 2, 3, 1})
		case "first":
			x = b.node("Transpose", []string{x}, "perm", []int64{0, 3, 1, 2})
		case "width": // a value for each column
			x = b.node("Sub", []string{x, b.values([]int64{int64(len(v))}, v...)})
		case "computed": // a deviation computed from a variance
			x = b.node("Div", []string{x, b.node("Sqrt", []string{b.colours(v...)})})
		case "relu":
			x = b.node("Relu", []string{x})
		case "norm":
			zeros := b.values([]int64{3}, 0.3, -2, 0.4)
			x = b.node("BatchNormalization", []string{x, zeros, zeros, b.values([]int64{3}, v[:3]...),
				b.values([]int64{3}, v[3:]...)})
		default:
			x = with(map[string]string{"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}[op])
		}
	}
	return x
}

// parseNumbers reads a list of numbers as the metadata of a model has it.
func parseNumbers(t *testing.T, list string) []float32 {
	t.Helper()
	p := published.FromEntries([]onnx.Entry{{Key: "kindred.mean", Value: list}})
	if p.Mean == nil {
		t.Fatalf("%q is no list of numbers", list)
	}
	return p.Mean
}

// TestFirstLayers: models that subtract a mean and divide themselves show which values they take;
// other first layers show nothing.
func TestFirstLayers(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"sub 123.675,116.28,103.53; div 58.395,57.12,57.375": "byte",
		"sub 127.5; mul 0.0078125":                           "byte",
		"cast; sub 104,117,123":                              "byte",
		"div 255":                                            "byte",
		"mul 0.003921569; sub 0.485,0.456,0.406; div 0.229,0.224,0.225": "byte",
		"div 127.5; add -1":                                    "byte",
		"from 127.5; div -128":                                 "byte",
		"sub 0.485,0.456,0.406; div 0.229,0.224,0.225":         "unit",
		"sub 0.485,0.456,0.406; computed 0.0524,0.0502,0.0506": "unit",
		"mul 2; sub 1":                                         "unit",
		"from 0.5; div 0.25":                                   "unit",
		"neg; add 0.5; mul 4":                                  "unit",
		"mul 255; sub 123.675,116.28,103.53":                   "unit",
		"mul 255":                                              "unit",
		"sub 0.485,0.456,0.406":                                "unit",
		"norm 120,115,100,3400,3200,3300":                      "byte",
		"norm 0.485,0.456,0.406,0.0524,0.0502,0.0506":          "unit",
		"div 255; norm 0.485,0.456,0.406,0.0524,0.0502,0.0506": "byte",
		"mul 2; norm 0.97,0.912,0.812,0.21,0.2,0.2":            "unit",
		// Values that are normalised already, or nearly.
		"norm 0.02,-0.1,0.05,1.1,0.9,1":                 "",
		"norm 0.485,0.456,0.406,0,0,0":                  "",
		"mul 0.458,0.448,0.45; add -0.03,-0.088,-0.188": "",
		"mul 1.5": "", "add 0.1": "", "sub 3; div 2": "", "mul 0": "", "mul 1; add 0": "",
		// Something else comes first, or the constant is not one of the channels.
		"relu; div 255": "", "into 255": "", "width 120,121,122,123,124,125,126,127": "",
		"sub 120,120; div 58": "",
	} {
		t.Run(text, func(t *testing.T) {
			b := newBuilder(1, 3, 8, 8)
			x := b.opened(t, text)
			m := b.model(b.node("Conv", []string{x, b.floats(4, 3, 3, 3)}))
			got := rangeFromModel(m, &m.Graph.Inputs[0], []int{1, 3, 8, 8}, imageLayout{first: true, c: 3, h: 8, w: 8})
			if got.Pixels != want || (got.Source == fromLayers) != (want != "") {
				t.Errorf("%+v, want %q", got, want)
			}
		})
	}
}

// TestFirstLayersOfOtherForms: images with channels last, grey images, and graphs where something
// else reads the image.
func TestFirstLayersOfOtherForms(t *testing.T) {
	last := newBuilder(1, 8, 8, 3)
	x := last.node("Sub", []string{"x", last.values([]int64{3}, 123, 117, 104)})
	x = last.node("Transpose", []string{x}, "perm", []int64{0, 3, 1, 2})
	x = last.node("Div", []string{x, last.colours(58, 57, 57)})
	m := last.model(last.node("Conv", []string{x, last.floats(4, 3, 3, 3)}))
	if p := rangeFromModel(m, &m.Graph.Inputs[0], []int{1, 8, 8, 3},
		imageLayout{c: 3, h: 8, w: 8}); p.Pixels != "byte" {
		t.Errorf("channels last: %+v", p)
	}

	grey := newBuilder(0, 1, 28, 28)
	x = grey.node("Div", []string{grey.node("Sub", []string{"x", grey.colours(0.1307)}), grey.colours(0.3081)})
	m = grey.model(grey.node("Conv", []string{x, grey.floats(4, 1, 3, 3)}))
	if p := rangeFromModel(m, &m.Graph.Inputs[0], []int{1, 1, 28, 28},
		imageLayout{first: true, c: 1, h: 28, w: 28}); p.Pixels !=
		"unit" {
		t.Errorf("grey: %+v", p)
	}

	for op, want := range map[string]string{"Shape": "byte", "Relu": ""} {
		b := newBuilder(1, 3, 8, 8)
		b.node(op, []string{"x"})
		m := b.model(b.node("Div", []string{"x", b.colours(255)}))
		if p := rangeFromModel(m, &m.Graph.Inputs[0], []int{1, 3, 8, 8},
			imageLayout{first: true, c: 3, h: 8, w: 8}); p.Pixels !=
			want {
			t.Errorf("beside %s: %+v, want %q", op, p, want)
		}
	}
}

// TestBytesAsInput: an input of bytes is 0 to 255, whatever comes after it.
func TestBytesAsInput(t *testing.T) {
	for text, want := range map[string]Preparation{
		"cast":                   {Pixels: "byte", Source: fromType},
		"cast; div 255":          {Pixels: "byte", Source: fromLayers},
		"cast; sub 0.5; div 0.5": {Pixels: "byte", Source: fromType},
	} {
		b := newBuilder(1, 3, 8, 8)
		b.m.Graph.Inputs[0].Type = onnx.Uint8
		m := b.end(b.node("Conv", []string{b.opened(t, text), b.floats(4, 3, 3, 3)}))
		net, err := Import(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := net.Preparation; got.Pixels != want.Pixels || got.Source != want.Source {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestEndlessOpenings: the search ends in long chains of operators and of constants.
func TestEndlessOpenings(t *testing.T) {
	b := newBuilder(1, 3, 8, 8)
	k := b.colours(127.5)
	for range 500 {
		k = b.node("Identity", []string{k})
	}
	x := b.node("Sub", []string{"x", k})
	for range 500 {
		x = b.node("Identity", []string{x})
	}
	m := b.model(x)
	if p := rangeFromModel(m, &m.Graph.Inputs[0], []int{1, 3, 8, 8}, imageLayout{first: true, c: 3}); p.Pixels != "" {
		t.Errorf("%+v", p)
	}
	b = newBuilder(1, 3, 8, 8) // each constant is twice the one before: 2^500 ways lead to the first
	k = b.colours(1e-3)
	for range 500 {
		k = b.node("Add", []string{k, k})
	}
	m = b.model(b.node("Sub", []string{"x", k}))
	if p := rangeFromModel(m, &m.Graph.Inputs[0], []int{1, 3, 8, 8}, imageLayout{first: true, c: 3}); p.Pixels != "" {
		t.Errorf("%+v", p)
	}
}

// readBeside saves a model and the files beside it, and reads it as Read does.
func readBeside(t *testing.T, name string, m *onnx.Model, beside map[string]string) (*Network, error) {
	t.Helper()
	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	for file, content := range beside {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return Read(path, Options{})
}

// TestOrderOfEvidence: the file's metadata, the files beside it, its own layers, the type of its
// input and its name decide in this order, except that no file overrules what the layers do.
func TestOrderOfEvidence(t *testing.T) {
	const (
		clip   = `{"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}`
		half   = `{"pretrained_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "input_size": [3, 8, 8]}}`
		halved = "0.5,0.5,0.5/0.5,0.5,0.5"
	)
	for _, c := range []struct {
		name, opening, meta string
		bytes               bool
		processor, config   string
		pixels, source      string
		note                string
	}{
		{name: "resnet.onnx", meta: "clip", opening: "div 255", processor: half, pixels: "clip",
			source: published.FromMetadata},
		{name: "resnet.onnx", processor: clip, config: half, source: processorFile,
			pixels: "0.48145467,0.4578275,0.40821072/0.26862955,0.2613026,0.2757771"},
		{name: "resnet.onnx", config: half, pixels: halved, source: configFile},
		{name: "resnet.onnx", processor: `{"feature_extractor_type": "Wav2Vec2"}`, config: half, pixels: halved,
			source: configFile},
		{name: "onnx/resnet.onnx", config: half, pixels: halved, source: configFile},
		{name: "resnet.onnx", opening: "div 255", config: half, pixels: "byte", source: fromLayers,
			note: configFile + " gives the pixel values " + halved + ", but by " + fromLayers + " they are byte"},
		{name: "resnet.onnx", opening: "div 255", processor: `{"do_rescale": false, "do_normalize": false}`,
			pixels: "byte", source: processorFile},
		{name: "resnet.onnx", opening: "mul 255", processor: `{"do_normalize": false}`, pixels: "unit",
			source: processorFile},
		{name: "resnet.onnx", opening: "div 255", pixels: "byte", source: fromLayers},
		{name: "resnet.onnx", opening: "cast", bytes: true, pixels: "byte", source: fromType},
		{name: "resnet.onnx", opening: "cast", bytes: true, config: half, pixels: "byte", source: fromType,
			note: "but by " + fromType},
		{name: "resnet.onnx", config: `{"image_size": 8}`, pixels: "imagenet", source: fromName},
		{name: "other.onnx", config: `{"some": {"other": ["program"]}}`},
	} {
		b := newBuilder(1, 3, 8, 8)
		if c.bytes {
			b.m.Graph.Inputs[0].Type = onnx.Uint8
		}
		if c.meta != "" {
			b.m.Meta = []onnx.Entry{{Key: "kindred.pixels", Value: c.meta}}
		}
		m := b.end(b.node("Conv", []string{b.opened(t, c.opening), b.floats(4, 3, 3, 3)}))
		beside := map[string]string{}
		if c.processor != "" {
			beside[processorFile] = c.processor
		}
		if c.config != "" {
			beside[configFile] = c.config
		}
		net, err := readBeside(t, c.name, m, beside)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got := net.Preparation; got.Pixels != c.pixels || got.Source != c.source {
			t.Errorf("%+v: %q from %q", c, got.Pixels, got.Source)
		}
		notes := strings.Join(net.Notes, "\n")
		if strings.Contains(notes, "gives the pixel values") != (c.note != "") || !strings.Contains(notes, c.note) {
			t.Errorf("%+v: notes %q", c, notes)
		}
	}
}

// TestOpenSizes: a model that leaves its size open takes that of the files beside it, and the
// shorter side goes with the size.
func TestOpenSizes(t *testing.T) {
	const text = `{"size": {"shortest_edge": 256}, "crop_size": 192, "image_mean": 0.5, "image_std": 0.5, "resample": 3}`
	for given, want := range map[int64][2]int{0: {192, 256}, 96: {96, 128}} {
		b := newBuilder(0, 3, given, given)
		net, err := readBeside(t, "m.onnx", b.end(b.node("Conv", []string{"x", b.floats(4, 3, 3, 3)})),
			map[string]string{processorFile: text})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]int{net.Spec.Input.H, net.Preparation.Shorter}; got != want || net.Preparation.Fit != "cover" ||
			net.Preparation.Resample != "bicubic" {
			t.Errorf("size %d: %v, %+v", given, got, net.Preparation)
		}
	}
}
