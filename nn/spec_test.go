package nn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

func vitProducts(d int64) int64 {
	const tokens, patches, depth = 197, 196, 12
	return depth*(12*d*d*tokens+2*tokens*tokens*d) + patches*d*3*16*16 + 1000*d
}

func TestShapes(t *testing.T) {
	cases := []struct {
		name   string
		side   int
		params int // as torchvision counts them, with an embedding of 1000
		macs   int64
	}{
		// torchvision: 11,689,512 parameters and 1.81 G products; 21,797,672 and
		// 3.66; 25,557,032 and 4.09; 3,504,872 and 0.30.
		{"resnet18", 224, 11689512, 1814073344},
		{"resnet34", 224, 21797672, 3663761408},
		{"resnet50", 224, 25557032, 4089184256},
		{"mobilenet_v2", 224, 3504872, 300774272},
		// Counted by hooks on torchvision 0.14's convolutions and linear layers.
		{"mobilenet_v3_small", 224, 2542856, 56510400},
		{"mobilenet_v3_large", 224, 5483032, 216589760},
		{"efficientnet_b0", 224, 5288548, 385814752},
		{"convnext_tiny", 224, 28589128, 4455531264},
		// Parameters as timm counts them. Products of a transformer: 12 D^2 a token
		// and block, 2 T^2 D of attention, the patches and the head.
		{"vit_t16", 224, 5717416, vitProducts(192)},
		{"vit_s16", 224, 22050664, vitProducts(384)},
		{"vit_b16", 224, 86567656, vitProducts(768)},
	}
	for _, c := range cases {
		s, err := zoo.Network(c.name, zoo.Options{Input: nn.Shape{H: c.side, W: c.side, C: 3}, Dim: 1000})
		if err != nil {
			t.Fatal(err)
		}
		layers, err := s.Shapes()
		if err != nil {
			t.Fatal(err)
		}
		params, macs := 0, int64(0)
		for _, l := range layers {
			params += l.Params
			macs += l.MACs
		}
		if params != c.params || macs != c.macs {
			t.Errorf("%s: %d parameters and %d products, want %d and %d", c.name, params, macs, c.params, c.macs)
		}
		if s.OutDim() != 1000 {
			t.Errorf("%s: %d outputs", c.name, s.OutDim())
		}
	}
}

func TestShapeErrors(t *testing.T) {
	img := nn.Shape{H: 5, W: 7, C: 4}
	dense := nn.Layer{Kind: nn.Dense, Name: "fc", Out: 2}
	flat := nn.Layer{Kind: nn.Flatten}
	conv := func(l nn.Layer) []nn.Layer {
		l.Kind, l.Name = nn.Conv, "c"
		return []nn.Layer{l, flat, dense}
	}
	cases := []struct {
		name   string
		in     nn.Shape
		layers []nn.Layer
		want   []string
	}{
		{"pool", img, []nn.Layer{{Kind: nn.MaxPool, Name: "pool3", Kernel: 6}},
			[]string{"layer pool3 (max_pool)", "6 x 6 kernel", "5 x 7 input"}},
		{"nested", img, []nn.Layer{{Kind: nn.Sequential, Name: "a",
			Layers: []nn.Layer{{Kind: nn.AvgPool, Name: "b", Kernel: 9, Pad: 1}}}},
			[]string{"layer a.b", "9 x 9", "padded by 1"}},
		{"kernel", img, conv(nn.Layer{Out: 1, Kernel: 8, Pad: 1}), []string{"layer c (conv)", "8 x 8 kernel", "5 x 7"}},
		{"groups", img, conv(nn.Layer{Out: 6, Kernel: 1, Groups: 4}), []string{"4 groups", "4 input and 6 output"}},
		{"no filters", img, conv(nn.Layer{Kernel: 1}), []string{"out = 0"}},
		{"no kernel", img, conv(nn.Layer{Out: 1}), []string{"kernel = 0"}},
		{"negative stride", img, conv(nn.Layer{Out: 1, Kernel: 1, Stride: -1}), []string{"stride = -1"}},
		{"alien field", img, []nn.Layer{{Kind: nn.ReLU, Kernel: 3}}, []string{"relu#1", "kernel means nothing"}},
		{"unknown kind", img, []nn.Layer{{Kind: "warp"}}, []string{`unknown kind "warp"`}},
		{"no name", img, []nn.Layer{{Kind: nn.BatchNorm}}, []string{"needs a name"}},
		{"same name", img, []nn.Layer{flat, dense, dense}, []string{"same name"}},
		{"dense on image", img, []nn.Layer{dense}, []string{"5 x 7 x 4 image", "flatten"}},
		{"conv on vector", img, []nn.Layer{flat, {Kind: nn.Conv, Name: "c", Out: 1, Kernel: 1}},
			[]string{"flattened to 140"}},
		{"image out", img, []nn.Layer{{Kind: nn.ReLU}}, []string{"output is 5 x 7 x 4"}},
		{"residual", img, []nn.Layer{{Kind: nn.Residual, Name: "r",
			Layers: []nn.Layer{{Kind: nn.Conv, Name: "c", Out: 3, Kernel: 1}}}},
			[]string{"layer r", "5 x 7 x 3", "5 x 7 x 4"}},
		{"empty residual", img, []nn.Layer{{Kind: nn.Residual, Name: "r"}}, []string{"layer r", "compute anything"}},
		{"nothing", img, nil, []string{"no layers"}},
		{"empty sequence", img, []nn.Layer{{Kind: nn.Sequential}}, []string{"no layer computes"}},
		{"empty input", nn.Shape{H: 1, W: 0, C: 1}, []nn.Layer{flat, dense}, []string{"1 x 0 x 1"}},
		{"huge input", nn.Shape{H: 1 << 14, W: 1 << 14, C: 1 << 10}, []nn.Layer{flat, dense}, []string{"too large"}},
		{"dropout", img, []nn.Layer{{Kind: nn.Dropout, Rate: 1}}, []string{"rate = 1"}},
		{"pad", img, []nn.Layer{{Kind: nn.MaxPool, Kernel: 2, Pad: 2}}, []string{"pad 2"}},
	}
	for _, c := range cases {
		s := &nn.Spec{Name: "net", Input: c.in, Layers: c.layers}
		err := s.Check()
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v, want one with %q", c.name, err, w)
			}
		}
		if _, err := nn.New(s, nn.Options{}); err == nil {
			t.Errorf("%s: a network was made", c.name)
		}
	}
	for _, name := range zoo.Networks() {
		_, err := zoo.Network(name, zoo.Options{Input: nn.Shape{H: 3, W: 3, C: 1}})
		if (name == "mnist" || name == "conv4") && err == nil {
			t.Errorf("%s takes images of 3 x 3", name)
		}
	}
	if _, err := zoo.Network("resnet19", zoo.Options{}); err == nil || !strings.Contains(err.Error(), "resnet18") {
		t.Errorf("unknown network: error %v", err)
	}
}

func TestSpecJSON(t *testing.T) {
	for _, name := range zoo.Networks() {
		s, err := zoo.Network(name, zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Dim: 7, Normalize: true,
			HeadNorm: true, Dropout: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		data, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := nn.ParseSpec(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, back); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for text, want := range map[string]string{
		``:   "ends too early",
		`{}`: "format",
		`{"format":"kindred-network","version":2}`:                                    "version 2",
		`{"format":"kindred-network","version":1,"layer":[]}`:                         "layer",
		`{"format":"kindred-network","version":1} x`:                                  "there is more after the end of the JSON",
		`{"format":"kindred-network","version":1,"name":"n","input":{"h":1,"w":1}}`:   "1 x 1 x 0",
		`{"format":"kindred-network","version":1,"layers":[{"kind":"relu","x":"y"}]}`: "x",
	} {
		if _, err := nn.ParseSpec([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, name := range zoo.Networks() {
		s, err := zoo.Network(name, zoo.Options{Input: nn.Shape{H: 224, W: 224, C: 3}, Multiple: 0.1, Depth: 1})
		if err != nil {
			f.Fatal(err)
		}
		data, err := s.JSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := nn.ParseSpec(data)
		if err != nil {
			return
		}
		infos, err := s.Shapes()
		if err != nil {
			t.Fatalf("parsed, but: %v", err)
		}
		for _, l := range infos {
			if l.Out.Len() < 1 || l.Params < 0 || l.MACs < 0 {
				t.Fatalf("%+v", l)
			}
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
	})
}
