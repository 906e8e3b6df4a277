package nn_test

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// TestProfileCounts: calls, products and bytes of every step are those of the
// layers' shapes.
func TestProfileCounts(t *testing.T) {
	spec := &nn.Spec{Name: "small", Input: nn.Shape{H: 6, W: 5, C: 2}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "conv", Out: 4, Kernel: 3, Pad: 1}, // 6 x 5 x 4
		{Kind: nn.Flatten},
		{Kind: nn.Dense, Name: "fc", Out: 7},
	}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 3*6*5*2)
	for k := range x {
		x[k] = float32(k%7) - 3
	}
	var p nn.Profile
	net.SetProfile(&p)
	for _, n := range []int{3, 2} {
		net.Forward(x[:n*60], n)
		dE := matrix.New(n, 7)
		dE.Row(0)[1] = 1
		net.Backward(dE)
	}
	net.Infer(x[:60], 1)
	net.Infer(x, 3)
	net.Infer(x, 3)
	const conv, fc = 6 * 5 * 4 * 3 * 3 * 2, 6 * 5 * 4 * 7
	type counts struct {
		calls                    int
		forward, backward, bytes int64
	}
	for what, tc := range map[string]struct {
		got  []nn.LayerTime
		want map[string]counts
	}{
		// The gradient of the images is not needed, that of the dense layer's input is.
		"training": {p.Train,
			map[string]counts{"conv": {2, 5 * conv, 5 * conv, 4 * 120}, "fc": {2, 5 * fc, 2 * 5 * fc, 4 * 7}}},
		"evaluation": {p.Infer, map[string]counts{"conv": {3, 7 * conv, 0, 4 * 120}, "fc": {3, 7 * fc, 0, 4 * 7}}},
	} {
		found := 0
		for _, l := range tc.got {
			got := counts{l.Calls, l.ForwardMACs, l.BackwardMACs, l.BytesPerImage}
			want, ok := tc.want[l.Layer]
			if !ok {
				continue
			}
			found++
			if got != want {
				t.Errorf("%s, %s: %+v, want %+v", what, l.Layer, got, want)
			}
			if l.Forward <= 0 || (l.Backward > 0) != (want.backward > 0) {
				t.Errorf("%s, %s: took %v and %v", what, l.Layer, l.Forward, l.Backward)
			}
			f, b := l.GFLOPS()
			if f != 2*float64(got.forward)/float64(l.Forward) || want.backward > 0 &&
				b != 2*float64(got.backward)/float64(l.Backward) || want.backward == 0 && b != 0 {
				t.Errorf("%s, %s: %v and %v products a nanosecond", what, l.Layer, f, b)
			}
		}
		if found != len(tc.want) {
			t.Errorf("%s: steps %+v", what, tc.got)
		}
	}
	net.SetProfile(nil)
	if net.Infer(x, 3); p.Infer[0].Calls != 3 {
		t.Error("a profile that was taken away goes on")
	}
}

// TestLayerRanges: the ends of every range of a layer's numbers, on both sides.
func TestLayerRanges(t *testing.T) {
	const large = 1 << 20
	img := nn.Shape{H: 5, W: 7, C: 4}
	conv := nn.Layer{Kind: nn.Conv, Name: "c", Out: 4, Kernel: 3, Pad: 1}
	norm := nn.Layer{Kind: nn.BatchNorm, Name: "b"}
	pool := nn.Layer{Kind: nn.MaxPool, Kernel: 3, Pad: 1}
	mean := nn.Layer{Kind: nn.AvgPool, Kernel: 4, Pad: 2}
	nan := float64(0)
	nan /= nan
	for _, tc := range []struct {
		name    string
		layer   nn.Layer
		set     func(*nn.Layer, float64)
		in, out []float64
	}{
		{"out", conv, func(l *nn.Layer, v float64) { l.Out = int(v) }, []float64{1, 9}, []float64{0, -1, large + 1}},
		{"kernel", conv, func(l *nn.Layer, v float64) { l.Kernel = int(v) }, []float64{1, 2, 7},
			[]float64{0, -1, 8, large + 1}},
		{"stride", conv, func(l *nn.Layer, v float64) { l.Stride = int(v) }, []float64{0, 1, 100, large},
			[]float64{-1, large + 1}},
		{"pad", conv, func(l *nn.Layer, v float64) { l.Pad = int(v) }, []float64{0, 1, 5}, []float64{-1, large + 1}},
		{"groups", conv, func(l *nn.Layer, v float64) { l.Groups = int(v) }, []float64{-1, 0, 1, 2, 4},
			[]float64{-2, 3, 8}},
		{"pool's pad", pool, func(l *nn.Layer, v float64) { l.Pad = int(v) }, []float64{0, 1}, []float64{2}},
		{"mean's pad", mean, func(l *nn.Layer, v float64) { l.Pad = int(v) }, []float64{0, 2}, []float64{3}},
		{"momentum", norm, func(l *nn.Layer, v float64) { l.Momentum = v }, []float64{0, 0.5, 1},
			[]float64{-0.1, 1.1, nan}},
		{"eps", norm, func(l *nn.Layer, v float64) { l.Eps = v }, []float64{0, 1e-9, 3}, []float64{-1e-9, nan}},
		{"rate", nn.Layer{Kind: nn.Dropout}, func(l *nn.Layer, v float64) { l.Rate = v }, []float64{0, 0.999},
			[]float64{-0.1, 1, nan}},
	} {
		check := func(v float64) error {
			l := tc.layer
			tc.set(&l, v)
			spec := &nn.Spec{Name: "s", Input: img,
				Layers: []nn.Layer{l, {Kind: nn.Flatten}, {Kind: nn.Dense, Name: "fc", Out: 2}}}
			return spec.Check()
		}
		for _, v := range tc.in {
			if err := check(v); err != nil {
				t.Errorf("%s = %v: %v", tc.name, v, err)
			}
		}
		for _, v := range tc.out {
			if check(v) == nil {
				t.Errorf("%s = %v: no error", tc.name, v)
			}
		}
	}
	// A maximum's place in its window fits a byte: 15 x 15.
	for kernel, ok := range map[int]bool{15: true, 16: false} {
		spec := &nn.Spec{Name: "s", Input: nn.Shape{H: 16, W: 16, C: 1},
			Layers: []nn.Layer{{Kind: nn.MaxPool, Kernel: kernel}, {Kind: nn.Flatten},
				{Kind: nn.Dense, Name: "fc", Out: 2}}}
		if err := spec.Check(); (err == nil) != ok {
			t.Errorf("a maximum over %d x %d: %v", kernel, kernel, err)
		}
	}
}

// TestDepthwiseWithPointwise: in evaluation a depthwise convolution is one step with
// the pointwise one behind it, in float32, and what lies between them takes no memory.
func TestDepthwiseWithPointwise(t *testing.T) {
	layers := func(precision nn.Precision) (infer, pairs int) {
		spec, err := zoo.Network("mobilenet_v1", zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 8,
			Multiple: 0.25, Stem: zoo.StemLarge})
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(spec, nn.Options{Seed: 1, Precision: precision})
		if err != nil {
			t.Fatal(err)
		}
		var p nn.Profile
		net.SetProfile(&p)
		for _, l := range p.Infer {
			if strings.Contains(l.Layer, "conv_dw+") {
				pairs++
			}
		}
		return len(p.Infer), pairs
	}
	whole, none := layers(nn.BFloat16)
	if fused, pairs := layers(nn.Float32); pairs != 13 || none != 0 || fused != whole-13 {
		t.Errorf("%d pairs, in bfloat16 %d; %d and %d steps", pairs, none, fused, whole)
	}
}
