package onnxnet

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// The ranges of pixel values that a model's own layers can show.
const (
	unitPixels = "unit" // 0 to 1
	bytePixels = "byte" // 0 to 255
)

// rangeFromModel tells the range of pixel values from the model itself: its first layers subtract a
// mean and divide by a deviation, or its input holds bytes. It is zero if neither is so. shape is
// the shape of the image, and f says where its channels are.
func rangeFromModel(m *onnx.Model, image *onnx.Value, shape []int, f imageLayout) Preparation {
	channel := 1
	if !f.first {
		channel = len(shape) - 1
	}
	w := firstLayers{model: m, channels: f.c, axis: channel, by: map[string]*onnx.Node{},
		tensors: map[string]*onnx.Tensor{}}
	pixels := w.pixels(image.Name)
	switch {
	case image.Type == onnx.Uint8 && pixels != bytePixels:
		return Preparation{Pixels: bytePixels, Source: fromType}
	case pixels != "":
		return Preparation{Pixels: pixels, Source: fromLayers}
	}
	return Preparation{}
}

// maxOpening bounds the operators between the image and the first layer with weights.
const maxOpening = 32

// firstLayers follows the image through the first operators of a model. They have made a*v + b of the
// values v of a channel.
type firstLayers struct {
	model    *onnx.Model
	channels int
	axis     int // of the channels
	by       map[string]*onnx.Node
	tensors  map[string]*onnx.Tensor
}

// affine is a*v + b for each channel.
type affine struct{ a, b []float64 }

// pixels returns the range of pixel values that the operators from the image on show.
func (w *firstLayers) pixels(image string) string {
	g := &w.model.Graph
	for i := range g.Nodes {
		for _, out := range g.Nodes[i].Outputs {
			w.by[out] = &g.Nodes[i]
		}
	}
	for i := range g.Initializers {
		w.tensors[g.Initializers[i].Name] = &g.Initializers[i]
	}
	delete(w.tensors, image)
	so := affine{make([]float64, w.channels), make([]float64, w.channels)}
	for c := range so.a {
		so.a[c] = 1
	}
	name := image
	for range maxOpening {
		n := w.reader(name)
		if n == nil || isForeign(n) || len(n.Inputs) == 0 || len(n.Outputs) == 0 {
			break
		}
		if n.Op == "BatchNormalization" {
			if p := so.pixels(); p != "" {
				return p
			}
			return w.normRange(n, so)
		}
		if !w.step(n, name, &so) {
			break
		}
		name = n.Outputs[0]
	}
	return so.pixels()
}

// reader returns the one node that computes with a value, not counting those that ask for its
// shape; nil if there are several.
func (w *firstLayers) reader(name string) (found *onnx.Node) {
	nodes := w.model.Graph.Nodes
	for i := range nodes {
		n := &nodes[i]
		if n.Op == "Shape" || n.Op == "Size" {
			continue
		}
		for _, in := range n.Inputs {
			if in != name {
				continue
			}
			if found != nil && found != n {
				return nil
			}
			found = n
		}
	}
	return found
}

// step goes through a node that reads the value of that name. It returns false at a node that
// does more than scale and shift the values of a channel.
func (w *firstLayers) step(n *onnx.Node, name string, so *affine) bool {
	switch n.Op {
	case "Identity", "Cast", "CastLike", "Dropout", "Resize", "Slice", "Gather":
		return n.Inputs[0] == name
	case "Transpose":
		perm := n.Attr("perm")
		if perm == nil {
			return false
		}
		for to, from := range perm.Ints {
			if from == int64(w.axis) {
				w.axis = to
				return true
			}
		}
		return false
	case "Neg":
		for c := range so.a {
			so.a[c], so.b[c] = -so.a[c], -so.b[c]
		}
		return true
	case "Add", "Sub", "Mul", "Div":
	default:
		return false
	}
	if len(n.Inputs) != 2 || n.Inputs[0] == n.Inputs[1] {
		return false
	}
	first := n.Inputs[0] == name
	other := n.Inputs[0]
	if first {
		other = n.Inputs[1]
	}
	with := w.perChannel(other)
	if with == nil || n.Op == "Div" && !first {
		return false
	}
	for c := range so.a {
		a, b, k := &so.a[c], &so.b[c], with[c]
		switch {
		case n.Op == "Add":
			*b += k
		case n.Op == "Sub" && first:
			*b -= k
		case n.Op == "Sub":
			*a, *b = -*a, k-*b
		case n.Op == "Mul":
			*a, *b = *a*k, *b*k
		default:
			*a, *b = *a/k, *b/k
		}
	}
	return true
}

// perChannel returns a constant that has a value for each channel, or one for all of them; nil if
// it is anything else.
func (w *firstLayers) perChannel(name string) []float64 {
	k := w.constant(name, 0)
	if k == nil || k.Len() != 1 && k.Len() != w.channels {
		return nil
	}
	out := make([]float64, w.channels)
	for c := range out {
		out[c] = k.Value(c % k.Len())
	}
	if at := len(k.Shape) - (4 - w.axis); k.Len() > 1 && (at < 0 || at >= len(k.Shape) || k.Shape[at] != w.channels) {
		return nil // its values belong to another axis
	}
	return out
}

// Bounds of the constants that opening computes: their values, and how many operators lie behind
// one another.
const (
	maxConstant      = 64
	maxConstantDepth = 8
)

// constant returns what a name stands for, if that is a small constant.
func (w *firstLayers) constant(name string, behind int) *tensor.Tensor {
	small := func(a *tensor.Tensor, err error) *tensor.Tensor {
		if err != nil || a == nil || a.Len() == 0 || a.Len() > maxConstant {
			return nil
		}
		return a
	}
	if t := w.tensors[name]; t != nil {
		n := int64(1)
		for _, d := range t.Shape {
			if n *= d; n > maxConstant {
				return nil
			}
		}
		return small(tensor.FromONNX(t))
	}
	n := w.by[name]
	if n == nil || isForeign(n) || behind > maxConstantDepth || len(n.Inputs) > 2 {
		return nil
	}
	switch n.Op {
	case "Constant", "Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze", "Sqrt", "Reciprocal", "Neg", "Add", "Sub",
		"Mul", "Div":
	default:
		return nil
	}
	of := &node{Node: n}
	var in []*tensor.Tensor
	for _, name := range n.Inputs {
		k := w.constant(name, behind+1)
		if k == nil {
			return nil
		}
		in = append(in, k)
		of.in = append(of.in, &value{name: name, shape: k.Shape, known: k})
	}
	out, err := (&graph{opset: w.model.Opset()}).compute(of, in)
	if err != nil || len(out) == 0 {
		return nil
	}
	return small(out[0], nil)
}

// allChannels reports whether a property holds for the mean and the deviation of every channel, in the
// pixel values that the model takes.
func (f affine) allChannels(holds func(mean, deviation float64) bool) bool {
	for c, a := range f.a {
		s := 1 / a
		m := -f.b[c] * s
		if math.IsNaN(m+s) || math.IsInf(m+s, 0) || !holds(m, math.Abs(s)) {
			return false
		}
	}
	return len(f.a) > 0
}

// pixels returns the range of pixel values that (v - mean) / deviation is made for: where the
// mean of photos lies in that range, or from what the values are scaled.
func (f affine) pixels() string {
	switch {
	case f.allChannels(func(m, s float64) bool {
		return 20 <= m && m <= 235 && 0.9 <= s && s <= 400 || math.Abs(m) <= 2 && 100 <= s && s <= 300
	}):
		return bytePixels
	case f.allChannels(func(m, s float64) bool {
		return 0.05 <= m && m <= 0.95 && 0.05 <= s && s <= 0.6 || // an ordinary normalisation
			0.2 <= m && m <= 0.8 && math.Abs(s-1) < 1e-6 || // a mean alone
			math.Abs(m) <= 0.95 && 1./300 <= s && s <= 1./100 // 0 to 255 made of 0 to 1
	}):
		return unitPixels
	}
	return ""
}

// normRange returns the range of pixel values of which a batch normalisation has the statistics.
func (w *firstLayers) normRange(n *onnx.Node, so affine) string {
	if len(n.Inputs) != 5 {
		return ""
	}
	mean, variance := w.constant(n.Inputs[3], 0), w.constant(n.Inputs[4], 0)
	if mean == nil || variance == nil || mean.Len() != w.channels || variance.Len() != w.channels {
		return ""
	}
	of := affine{make([]float64, w.channels), make([]float64, w.channels)}
	for c := range of.a {
		of.a[c] = so.a[c] / math.Sqrt(variance.Value(c))
		of.b[c] = (so.b[c] - mean.Value(c)) / math.Sqrt(variance.Value(c))
	}
	switch {
	case of.allChannels(func(m, s float64) bool { return 20 <= m && m <= 235 && 15 <= s && s <= 130 }):
		return bytePixels
	case of.allChannels(func(m, s float64) bool { return 0.2 <= m && m <= 0.8 && 0.1 <= s && s <= 0.4 }):
		return unitPixels
	}
	return ""
}
