package graphrun

import (
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Layout is how the values of a weight lie in memory.
type Layout int

const (
	// AsIs is the order of the shape.
	AsIs Layout = iota
	// Transposed is that of a matrix whose columns lie one after the other: the weights of a
	// product, as its kernel takes them.
	Transposed
	// ChannelsLast is that of filters whose channels lie side by side.
	ChannelsLast
)

// Weight is an input of a graph that holds a weight.
type Weight struct {
	Name   string
	Shape  []int
	Layout Layout
}

// Weights lists the inputs of a graph of floating-point values with a fixed shape, beside the
// one called input. Options.Weights has their values, which lie as Layout says.
func Weights(m *onnx.Model, input string) []Weight {
	turned, filters, other := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range m.Graph.Nodes {
		n := &m.Graph.Nodes[i]
		for k, in := range n.InputNames() {
			switch {
			case k >= len(n.Inputs):
				other[in] = true
			case k == 1 && n.Op == "Conv":
				filters[in] = true
			case k == 1 && (n.Op == "MatMul" || n.Op == "Gemm" && !isSet(n, "transB")):
				turned[in] = true
			default:
				other[in] = true
			}
		}
	}
	for i := range m.Graph.Outputs {
		other[m.Graph.Outputs[i].Name] = true
	}
	var list []Weight
	for i := range m.Graph.Inputs {
		in := &m.Graph.Inputs[i]
		if in.Name == input || !in.Type.IsFloat() {
			continue
		}
		w := Weight{Name: in.Name, Shape: []int{}}
		for _, d := range in.Shape {
			if d.Name != "" || d.Size < 1 || d.Size > 1<<31-1 {
				w.Shape = nil
				break
			}
			w.Shape = append(w.Shape, int(d.Size))
		}
		if w.Shape == nil {
			continue
		}
		switch {
		case other[in.Name]:
		case filters[in.Name] && !turned[in.Name] && len(w.Shape) == 4:
			w.Layout = ChannelsLast
		case turned[in.Name] && !filters[in.Name] && len(w.Shape) == 2:
			w.Layout = Transposed
		}
		list = append(list, w)
	}
	return list
}

// isSet reads an attribute that is a flag.
func isSet(n *onnx.Node, attr string) bool {
	a := n.Attr(attr)
	return a != nil && a.Int != 0
}

// inOrder returns the values of a weight in the order of its shape.
func (w *value) inOrder() *tensor.Tensor {
	t := w.constant
	switch w.layout {
	case Transposed:
		out := make([]float32, len(t.Floats))
		rows, cols := t.Shape[0], t.Shape[1]
		for i := range rows {
			for j := range cols {
				out[i*cols+j] = t.Floats[j*rows+i]
			}
		}
		return tensor.Floats(t.Shape, out)
	case ChannelsLast:
		out := make([]float32, len(t.Floats))
		k, ch, area := t.Shape[0], t.Shape[1], t.Shape[2]*t.Shape[3]
		for f := range k {
			for a := range area {
				for c := range ch {
					out[(f*ch+c)*area+a] = t.Floats[(f*area+a)*ch+c]
				}
			}
		}
		return tensor.Floats(t.Shape, out)
	}
	return t
}
