package onnxnet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// frozenModel is a model that runs as it stands.
type frozenModel struct {
	m     *onnx.Model
	image *onnx.Value
	form  imageLayout
	shape []int
	p     *graphrun.Program
	maker map[string]*onnx.Node // of each value
}

// importFrozen makes a network of one layer, the operators of the model, which no training changes.
func (net *Network) importFrozen(m *onnx.Model, image *onnx.Value, opt Options) error {
	shape, f := sides(image, cmp.Or(opt.Size, opt.defaultSize))
	if opt.Size != 0 { // a model of a fixed size says so when it runs
		f.h, f.w = opt.Size, opt.Size
		shape = []int{1, f.h, f.w, f.c}
		if f.first {
			shape = []int{1, f.c, f.h, f.w}
		}
	}
	net.evidence = rangeFromModel(m, image, shape, f)
	z := &frozenModel{m: m, image: image, form: f, shape: shape, maker: map[string]*onnx.Node{}}
	for i := range m.Graph.Nodes {
		for _, name := range m.Graph.Nodes[i].Outputs {
			z.maker[name] = &m.Graph.Nodes[i]
		}
	}
	end, whole, err := z.chooseOutput(net, opt.Cut)
	if err != nil {
		return err
	}
	if err := z.compile(end); err != nil {
		own, of := sides(image, 0)
		fixed := opt.Size != 0 && (of.h != opt.Size || of.w != opt.Size)
		if z.shape = own; fixed && z.compile(end) == nil {
			return &definiteError{fmt.Errorf("made for images of %d x %d, not of %d: %w", of.h, of.w, opt.Size, err)}
		}
		return err
	}
	if !whole {
		if at := z.beforeClassifier(end); at != end {
			end = at
			net.note("the network ends with %q; the classifier behind it is left out (network.cut names another end)",
				end)
		}
	}
	made, out, err := z.model(net, end)
	if err != nil {
		return err
	}
	return z.finish(net, made, out)
}

// compile makes the program that computes a value.
func (z *frozenModel) compile(end string) (err error) {
	z.p, err = graphrun.Compile(z.m, graphrun.Options{Input: z.image.Name, Shape: z.shape, Type: z.image.Type,
		Outputs: []string{end}})
	return err
}

// chooseOutput names the value that the network ends with, or that a classifier computes if whole is false.
func (z *frozenModel) chooseOutput(net *Network, cut string) (name string, whole bool, err error) {
	if cut != "" {
		for i := range z.m.Graph.Nodes {
			n := &z.m.Graph.Nodes[i]
			if n.Name == cut && len(n.Outputs) > 0 {
				return n.Outputs[0], true, nil
			}
		}
		if z.maker[cut] == nil {
			return "", false, fmt.Errorf("network.cut %q is not a node or tensor of the model", cut)
		}
		return cut, true, nil
	}
	return net.chosenOutput(z.m, func(name string) bool { return z.maker[name] != nil })
}

// chain lists the values that everything from the image to a value runs through, both included.
func (z *frozenModel) chain(end string) []string {
	above := map[string]string{} // the last value that all of a value's paths run through
	depth := map[string]int{z.image.Name: 0}
	for i := range z.m.Graph.Nodes {
		n := &z.m.Graph.Nodes[i]
		at, found := "", false
		for _, in := range n.InputNames() {
			if _, ok := depth[in]; !ok {
				continue // a constant
			}
			if !found {
				at, found = in, true
				continue
			}
			for b := in; at != b; {
				if depth[at] < depth[b] {
					at, b = b, at
				}
				at = above[at]
			}
		}
		if !found {
			continue
		}
		for _, out := range n.Outputs {
			if out != "" && !z.p.IsConstant(out) {
				above[out], depth[out] = at, depth[at]+1
			}
		}
	}
	var list []string
	for v := end; ; v = above[v] {
		list = append(list, v)
		if _, ok := depth[v]; !ok || v == z.image.Name {
			break
		}
	}
	slices.Reverse(list)
	return list
}

// isVector reports whether all values lie along one axis.
func isVector(shape []int) bool {
	return len(shape) > 0 && tensor.Size(shape) == slices.Max(shape)
}

// hasWeights reports whether a node sums with constant weights.
func (z *frozenModel) hasWeights(n *onnx.Node) bool {
	switch n.Op {
	case "Conv", "Gemm", "MatMul", "FusedConv", "FusedGemm", "FusedMatMul":
		return slices.ContainsFunc(n.Inputs, func(name string) bool { return name != "" && z.p.IsConstant(name) })
	}
	return false
}

// beforeClassifier returns the value that a classifier takes, or end if there is none. It is found
// as for networks of layers: once there is one position only, the weighted sums that follow are the
// classifier, or the last of them if the first makes the features.
func (z *frozenModel) beforeClassifier(end string) string {
	chain := z.chain(end)
	pooled := -1
	for i := 1; i < len(chain); i++ {
		now, before := z.p.Shape(chain[i]), z.p.Shape(chain[i-1])
		if isVector(now) && before != nil && (isVector(before) && pooled >= 0 ||
			tensor.Size(before) != tensor.Size(now) || z.hasWeights(z.maker[chain[i]])) {
			pooled = i
			break
		}
	}
	if pooled < 0 || !isVector(z.p.Shape(end)) || z.maker[end].Op == "LpNormalization" {
		return end
	}
	last := -1
	for i := pooled + 1; i < len(chain); i++ {
		if z.hasWeights(z.maker[chain[i]]) {
			last = i
			if !z.hasWeights(z.maker[chain[pooled]]) {
				break
			}
		}
	}
	if last < 0 {
		return end
	}
	return chain[last-1]
}

// largeConstant is the number of values above which a constant is a parameter of the network.
const largeConstant = 256

// model returns the part of the model that computes a vector of end, and fills in the network's
// weights.
func (z *frozenModel) model(net *Network, end string) (part *onnx.Model, out int, err error) {
	part = &onnx.Model{IRVersion: z.m.IRVersion, Producer: z.m.Producer, Opsets: z.m.Opsets}
	g := &part.Graph
	g.Name = z.m.Graph.Name
	needing, needed := z.m.Graph.NeededFor(end)
	image := *z.image
	image.Shape = slices.Clone(image.Shape)
	at := 1
	if z.form.first {
		at = 2
	}
	image.Shape[at], image.Shape[at+1] = onnx.Dim{Size: int64(z.form.h)}, onnx.Dim{Size: int64(z.form.w)}
	g.Inputs = []onnx.Value{image}
	for i := range z.m.Graph.Initializers {
		t := &z.m.Graph.Initializers[i]
		if !needed[t.Name] || t.Name == image.Name {
			continue
		}
		ok, err := z.parameter(net, g, t, true)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			g.Initializers = append(g.Initializers, *t)
		}
	}
	var nodes []onnx.Node
	for _, n := range needing {
		if a := n.Attr("value"); n.Op == "Constant" && a != nil && a.Tensor != nil {
			t := *a.Tensor
			t.Name = n.Outputs[0]
			ok, err := z.parameter(net, g, &t, t.Len() > largeConstant)
			if err != nil {
				return nil, 0, err
			}
			if ok {
				continue
			}
		}
		nodes = append(nodes, n)
	}
	g.Nodes = append(casts(g), nodes...)
	return part, z.appendVector(net, g, end), nil
}

// castSuffix ends the name of a parameter that holds integers.
const castSuffix = ".as_float"

// casts makes the nodes that turn parameters back into integers.
func casts(g *onnx.Graph) []onnx.Node {
	var list []onnx.Node
	for i := range g.Inputs {
		in := &g.Inputs[i]
		if name, ok := strings.CutSuffix(in.Name, castSuffix); ok && i > 0 {
			list = append(list, onnx.Node{Name: in.Name, Op: "Cast", Inputs: []string{in.Name}, Outputs: []string{name},
				Attrs: []onnx.Attr{{Name: "to", Type: onnx.AttrInt, Int: int64(in.Type)}}})
			in.Type = onnx.Float32
		}
	}
	return list
}

// parameter makes a tensor a parameter of the network if it can be one: of floating-point numbers that
// are finite if floats says so, or of many integers that float32 holds exactly.
func (z *frozenModel) parameter(net *Network, g *onnx.Graph, t *onnx.Tensor, floats bool) (bool, error) {
	var values []float32
	name, typ := t.Name, onnx.Float32
	if t.Type.IsFloat() {
		if !floats || t.Len() == 0 {
			return false, nil
		}
		var err error
		if values, err = t.Float32s(); err != nil {
			return false, err
		}
		if slices.ContainsFunc(values, func(v float32) bool { return v-v != 0 }) {
			return false, nil // a mask
		}
	} else {
		if t.Len() <= largeConstant {
			return false, nil
		}
		whole, err := t.Int64s()
		if err != nil {
			return false, nil // texts stay where they are
		}
		for _, v := range whole {
			if v > 1<<24 || v < -1<<24 {
				return false, nil
			}
			values = append(values, float32(v))
		}
		name, typ = name+castSuffix, t.Type
	}
	in := onnx.Value{Name: name, Type: typ, Shape: []onnx.Dim{}}
	shape := make([]int, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = int(d)
		in.Shape = append(in.Shape, onnx.Dim{Size: d})
	}
	g.Inputs = append(g.Inputs, in)
	net.Weights.Tensors = append(net.Weights.Tensors, safetensors.Float32(layerName+"."+name, shape, values))
	return true, nil
}

// layerName is the name of the one layer.
const layerName = "graph"

// appendVector makes a vector of the value that the graph ends with: the mean of an image, the class token
// or the mean of tokens. It returns its length.
func (z *frozenModel) appendVector(net *Network, g *onnx.Graph, end string) (out int) {
	shape := z.p.Shape(end)
	if shape == nil { // it may depend on the image: this is the end that was computed
		out = tensor.Size(z.p.OutputShape(0))
	} else {
		out = tensor.Size(shape)
	}
	add := func(op string, inputs []string, attrs ...onnx.Attr) string {
		out := end + "/" + op
		g.Nodes = append(g.Nodes, onnx.Node{Name: out, Op: op, Inputs: inputs, Outputs: []string{out}, Attrs: attrs})
		return out
	}
	switch {
	case isVector(shape) || len(shape) != 3 && len(shape) != 4:
	case len(shape) == 4:
		net.note("its output is one value for each of %d positions: their mean is taken", shape[2]*shape[3])
		out = shape[0] * shape[1]
		end = add("GlobalAveragePool", []string{end})
	case z.hasToken(end, shape):
		net.note("its output is one value for each of %d positions: the first, the class token's, is taken", shape[1])
		out = shape[0] * shape[2]
		first := end + "/first"
		g.Initializers = append(g.Initializers, onnx.Ints(first, []int64{}, []int64{0}))
		end = add("Gather", []string{end, first}, onnx.Attr{Name: "axis", Type: onnx.AttrInt, Int: 1})
	default:
		net.note("its output is one value for each of %d positions: their mean is taken", shape[1])
		out = shape[0] * shape[2]
		end = add("Transpose", []string{end}, onnx.Attr{Name: "perm", Type: onnx.AttrInts, Ints: []int64{0, 2, 1}})
		end = add("GlobalAveragePool", []string{end})
	}
	g.Outputs = []onnx.Value{{Name: end, Type: onnx.Float32}}
	return out
}

// hasToken reports whether a node puts a constant in front of the positions of tokens of this shape.
func (z *frozenModel) hasToken(end string, shape []int) bool {
	for _, name := range z.chain(end) {
		n := z.maker[name]
		if n != nil && n.Op == "Concat" && len(n.Inputs) > 1 && z.p.IsConstant(n.Inputs[0]) &&
			!z.p.IsConstant(n.Inputs[1]) &&
			slices.Equal(z.p.Shape(name), shape) {
			return true
		}
	}
	return false
}

// finish describes the network, which makes out values.
func (z *frozenModel) finish(net *Network, part *onnx.Model, out int) error {
	if len(graphrun.Weights(part, z.image.Name)) != len(part.Graph.Inputs)-1 {
		return errors.New("it takes inputs besides its image and its weights")
	}
	if out < 1 {
		return errors.New("it makes no values")
	}
	var text bytes.Buffer
	if err := part.Write(&text); err != nil {
		return err
	}
	net.Spec = &nn.Spec{Name: "onnx", Input: nn.Shape{H: z.form.h, W: z.form.w, C: z.form.c}, Layers: []nn.Layer{{
		Kind: nn.Operators, Name: layerName, Out: out, ChannelFirst: z.form.first, Graph: text.Bytes(),
		Room: int(min(z.p.Peak()/4+1, math.MaxInt32)),
	}}}
	net.Frozen = true
	return net.Spec.Check()
}
