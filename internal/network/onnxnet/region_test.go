package onnxnet

import (
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
)

// Weights that were computed from values become the constants of their region that they are
// within rounding, and no others.
func TestSnap(t *testing.T) {
	known := func(v ...float32) *value { return &value{known: tensor.Floats([]int{len(v)}, v)} }
	whole := &value{known: vector([]int64{1, 2})}
	region := []*node{{in: []*value{nil, {}, known(1, 2, 3), whole}}, {in: []*value{known(0.5, -4)}}}
	for _, c := range []struct{ is, want []float32 }{
		{[]float32{0.5001, -4.001}, []float32{0.5, -4}},
		{[]float32{0.5, -4}, []float32{0.5, -4}},
		{[]float32{0.5, -4.02}, []float32{0.5, -4.02}},
		{[]float32{0.503, -4}, []float32{0.503, -4}},
		{[]float32{1.0001, 1.9999}, []float32{1.0001, 1.9999}}, // whole numbers are no weights
		{[]float32{1.0001, 1.9999, 3}, []float32{1, 2, 3}},
		{[]float32{1.0001, 1.9999, 3.1}, []float32{1.0001, 1.9999, 3.1}},
		{[]float32{0.5}, []float32{0.5}},
	} {
		l := &layer{params: []param{{"a", []int{len(c.is)}, slices.Clone(c.is)}}}
		snapToConstants(l, region)
		if got := l.params[0].values; !slices.Equal(got, c.want) {
			t.Errorf("%v became %v, want %v", c.is, got, c.want)
		}
	}
}

// Only what lets no value below a positive number, and any above it, is a lower bound.
func TestLowerBound(t *testing.T) {
	inf := float32(math.Inf(1))
	attr := func(name string, v float32) onnx.Attr { return onnx.Attr{Name: name, Type: onnx.AttrFloat, Float: v} }
	image := &value{}
	number := func(v float32) *value { return &value{known: tensor.Floats([]int{}, []float32{v})} }
	for what, c := range map[string]struct {
		op    string
		attrs []onnx.Attr
		in    []*value
		want  float64 // 0: none
	}{
		"from 1e-6 on":        {"Clip", nil, []*value{image, number(1e-6)}, 1e-6},
		"up to infinity":      {"Clip", nil, []*value{image, number(0.1), number(inf)}, 0.1},
		"up to the largest":   {"Clip", nil, []*value{image, number(0.1), number(math.MaxFloat32)}, 0.1},
		"up to 6":             {"Clip", nil, []*value{image, number(0.1), number(6)}, 0},
		"from 0 on":           {"Clip", nil, []*value{image, number(0)}, 0},
		"from -1 on":          {"Clip", nil, []*value{image, number(-1)}, 0},
		"from nowhere on":     {"Clip", nil, []*value{image}, 0},
		"by attributes":       {"Clip", []onnx.Attr{attr("min", 0.5)}, []*value{image}, 0.5},
		"both by attributes":  {"Clip", []onnx.Attr{attr("min", 0.5), attr("max", 1)}, []*value{image}, 0},
		"several bounds":      {"Clip", nil, []*value{image, {known: vector([]int64{1, 2})}}, 0},
		"the larger":          {"Max", nil, []*value{image, number(0.25)}, 0.25},
		"the larger of 0":     {"Max", nil, []*value{number(0), image}, 0},
		"the larger, first":   {"Max", nil, []*value{number(0.25), image}, 0.25},
		"the larger of three": {"Max", nil, []*value{number(0.25), image, image}, 0},
		"the smaller":         {"Min", nil, []*value{image, number(0.25)}, 0},
	} {
		got, ok := lowerBound(&node{Node: &onnx.Node{Op: c.op, Attrs: c.attrs}, in: c.in})
		if ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("%s: %g, %v, want %g", what, got, ok, c.want)
		}
	}
}

// A gate is told from what it gates whichever comes first, for positions and for vectors.
func TestGatesInEitherOrder(t *testing.T) {
	shape := nn.Shape{H: 3, W: 3, C: 3}
	x := images(shape, 2, 7)
	for what, make := range map[string]func(b *builder) (v, gate string){
		"of positions": func(b *builder) (string, string) {
			return "x", b.node("Sigmoid", []string{b.node("Conv", []string{"x", b.floats(3, 3, 1, 1)})})
		},
		"of channels": func(b *builder) (string, string) {
			return "x", b.node("Sigmoid", []string{b.node("Conv", []string{b.node("GlobalAveragePool", []string{"x"}),
				b.floats(3, 3, 1, 1)})})
		},
		"of a vector": func(b *builder) (string, string) {
			v := b.node("GlobalAveragePool", []string{"x"})
			return v, b.node("Sigmoid", []string{b.node("Conv", []string{v, b.floats(3, 3, 1, 1)})})
		},
		"of two branches": func(b *builder) (string, string) {
			return b.node("Conv", []string{"x", b.floats(3, 3, 1, 1)}),
				b.node("Sigmoid", []string{b.node("Conv", []string{"x", b.floats(3, 3, 1, 1)})})
		},
	} {
		var out [2][]float32
		for order := range out {
			b := newBuilder(0, 3, 3, 3)
			v, gate := make(b)
			in := []string{v, gate}
			if order == 1 {
				slices.Reverse(in)
			}
			net, err := Import(b.end(b.node("Mul", in)), Options{})
			if err != nil {
				t.Errorf("%s, order %d: %v", what, order, err)
				break
			}
			out[order] = built(t, net).Infer(x, 2).Data
		}
		if len(out[0]) != 6 || !slices.Equal(out[0], out[1]) {
			t.Errorf("%s: %v, reversed %v", what, out[0], out[1])
		}
	}
}
