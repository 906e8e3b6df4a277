package onnxexport

import (
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
)

// leastOpset is the oldest version of operators to which Export adds layers.
const leastOpset = 11

// adoptOpsets takes the versions of operators over from the layer of operators, if the network has one.
func (e *exporter) adoptOpsets(g *nn.Graph) error {
	e.opsets = []onnx.Opset{{Version: exportOpset}}
	for i := range g.Nodes {
		l := &g.Nodes[i].Layer
		if l.Kind != nn.Operators {
			continue
		}
		m, err := onnx.Parse(l.Graph)
		if err != nil {
			return err
		}
		if m.Opset() < leastOpset {
			return fmt.Errorf("layer %s: its operators are of opset %d; models of opset %d and later are written",
				g.Nodes[i].Path, m.Opset(), leastOpset)
		}
		e.graphs[g.Nodes[i].Path], e.opsets, e.version = m, m.Opsets, m.IRVersion
	}
	return nil
}

// opset is the version of ONNX's own operators.
func (e *exporter) opset() int64 { return (&onnx.Model{Opsets: e.opsets}).Opset() }

// reduceOp writes a reduction, whose axes are an input from opset 18 on.
func (u *layerWriter) reduceOp(op, x string, axes []int, attrs ...onnx.Attr) string {
	if u.exporter.opset() >= 18 {
		return u.op(op, []string{x, u.ints(axes...)}, attrs...)
	}
	return u.op(op, []string{x}, append(attrs, intsAttr("axes", axes...))...)
}

// operators writes a graph as it stands, its values under names of their own. Its weights become
// initializers.
func (u *layerWriter) operators() wire {
	m := u.graphs[u.n.Path]
	image := u.convert(u.x, asImage).name
	if !u.l.ChannelFirst {
		image = u.op("Transpose", []string{image}, intsAttr("perm", 0, 2, 3, 1))
	}
	if typ := m.Graph.Inputs[0].Type; typ != onnx.Float32 {
		if !typ.IsFloat() {
			image = u.unaryOp("Round", image)
		}
		image = u.unaryOp("Cast", image, intAttr("to", int(typ)))
	}
	names := map[string]string{"": "", m.Graph.Inputs[0].Name: image}
	for i, w := range m.Graph.Inputs[1:] {
		names[w.Name], _ = u.param(u.n.Names[i])
	}
	for _, t := range m.Graph.Initializers {
		to := u.at + "/" + t.Name
		names[t.Name], t.Name = to, to
		u.initializers = append(u.initializers, t)
	}
	for _, n := range onnx.RenameValues(m.Graph.Nodes, func(s string) string {
		if _, ok := names[s]; !ok {
			names[s] = u.at + "/" + s
		}
		return names[s]
	}) {
		n.Name = u.at + "/" + strings.TrimPrefix(n.Name, "/")
		u.nodes = append(u.nodes, n)
	}
	y := u.op("Reshape", []string{names[m.Graph.Outputs[0].Name], u.ints(-1, u.l.Out)})
	return wire{name: y, kind: asVector}
}
