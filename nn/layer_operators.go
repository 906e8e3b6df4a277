package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun"
)

// operatorsLayer is the descriptor of a graph of ONNX operators.
type operatorsLayer struct{ baseLayer }

func (operatorsLayer) fields() []string { return []string{"graph", "out", "room", "channel_first"} }

func (operatorsLayer) check(l *Layer) error {
	if l.Room < 0 || l.Room > math.MaxInt32 {
		return fmt.Errorf("room = %d; it must be in 0..%d", l.Room, math.MaxInt32)
	}
	m, err := onnx.Parse(l.Graph)
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	if len(m.Graph.Inputs) == 0 || len(m.Graph.Inputs[0].Shape) != 4 || len(m.Graph.Outputs) != 1 {
		return errors.New("graph: its first input must be an image, with four axes, and it must have one output")
	}
	if err := graphrun.Check(m); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

func (operatorsLayer) output(l *Layer, in value) (value, error) {
	return value{shape: Shape{1, 1, l.Out}}, checkGrid(in)
}

// weights lists the inputs that are weights. The graph has been checked.
func (operatorsLayer) weights(l *Layer) []graphrun.Weight {
	m, err := onnx.Parse(l.Graph)
	if err != nil {
		return nil
	}
	return graphrun.Weights(m, m.Graph.Inputs[0].Name)
}

func (d operatorsLayer) names(l *Layer) []string {
	var list []string
	for _, w := range d.weights(l) {
		list = append(list, w.Name)
	}
	return list
}

// params are all frozen: no gradient goes through the graph.
func (d operatorsLayer) params(n *node, _ value) []*Param {
	var list []*Param
	for _, w := range d.weights(n.layer) {
		total := int64(1)
		for _, s := range w.Shape {
			total = budget.Product(total, int64(s))
		}
		dims := [4]int{int(min(total, math.MaxInt)), 1, 1, 1}
		switch w.Layout {
		case graphrun.Transposed:
			dims = [4]int{1, w.Shape[0], w.Shape[1], 1}
		case graphrun.ChannelsLast:
			copy(dims[:], w.Shape)
		}
		list = append(list, &Param{Name: n.prefix + w.Name, Shape: w.Shape, dims: dims, Buffer: true})
	}
	return list
}

func (operatorsLayer) savedValues(*graph, int) int64 { return 0 }

func (d operatorsLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	s := &operatorsStep{stepBase: stepBase{n.path, in, out}, l: n.layer}
	for _, w := range d.weights(n.layer) {
		s.names = append(s.names, w.Name)
		s.params = append(s.params, c.param(n, w.Name))
	}
	return s, i
}

// operatorsStep runs a graph of ONNX operators, for one image after another. It has no way back.
type operatorsStep struct {
	stepBase
	l      *Layer
	names  []string
	params []*Param
}

func (s *operatorsStep) planBackward(*planner) {}
func (s *operatorsStep) backward(*Net, int)    {}

// programs are the graphs of a network that are ready to run, by the path of their layer. Training
// and evaluation share them.
type programs map[string]*compiledGraph

// compiledGraph is a program and the weights that it was made of.
type compiledGraph struct {
	*graphrun.Program
	weights map[string][]float32
}

// program returns the graph with the weights that the network has now.
func (s *operatorsStep) program(e *Net) (*graphrun.Program, error) {
	if g := e.graphs[s.path]; g != nil && g.isMadeOf(s.names, s.params) {
		return g.Program, nil
	}
	weights := map[string][]float32{}
	for i, p := range s.params {
		weights[s.names[i]] = p.Value
	}
	return s.compile(e, weights)
}

// isMadeOf reports whether a graph was made of these parameters.
func (g *compiledGraph) isMadeOf(names []string, params []*Param) bool {
	for i, p := range params {
		if w := g.weights[names[i]]; len(w) != len(p.Value) || len(w) > 0 && &w[0] != &p.Value[0] {
			return false
		}
	}
	return true
}

// compile makes the graph ready with the given weights.
func (s *operatorsStep) compile(e *Net, weights map[string][]float32) (*graphrun.Program, error) {
	m, err := onnx.Parse(s.l.Graph)
	if err != nil {
		return nil, err
	}
	in := m.Graph.Inputs[0]
	shape := []int{1, s.in.shape.C, s.in.shape.H, s.in.shape.W}
	if !s.l.ChannelFirst {
		shape = []int{1, s.in.shape.H, s.in.shape.W, s.in.shape.C}
	}
	out := m.Graph.Outputs[0].Name
	p, err := graphrun.Compile(m, graphrun.Options{Input: in.Name, Shape: shape, Type: in.Type, Outputs: []string{out},
		Weights: weights})
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w", s.path, err)
	}
	if have := p.OutputShape(0); length(have) != s.l.Out {
		return nil, fmt.Errorf("layer %s: its graph makes values of shape %d, not %d of them", s.path, have, s.l.Out)
	}
	e.graphs[s.path] = &compiledGraph{p, weights}
	return p, nil
}

func length(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// forward gives NaN for an image of which the graph cannot be computed: that is an index or a shape
// that depends on the image and does not fit.
func (s *operatorsStep) forward(e *Net, n int) {
	p, failed := s.program(e)
	for i := range n {
		y := s.out.image(s.out.x.data, i)
		var out []float32
		err := failed
		if err == nil {
			out, err = p.RunImage(s.in.image(s.in.x.data, i), s.l.ChannelFirst)
		}
		if err != nil || len(out) != len(y) {
			for k := range y {
				y[k] = float32(math.NaN())
			}
			continue
		}
		copy(y, out)
	}
}

// compileGraphs makes the graphs ready with new values of their weights, and returns these in the engine's
// order. The network stays what it is.
func (e *Net) compileGraphs(values map[*Param][]float32) (programs, map[*Param][]float32, error) {
	made := &Net{graphs: programs{}}
	fresh := map[*Param][]float32{}
	for _, s := range e.eval.steps {
		s, ok := s.(*operatorsStep)
		if !ok {
			continue
		}
		weights := map[string][]float32{}
		for i, p := range s.params {
			q := *p
			q.Value = make([]float32, len(p.Value))
			q.FromTorch(values[p])
			weights[s.names[i]], fresh[p] = q.Value, q.Value
		}
		if _, err := s.compile(made, weights); err != nil {
			return nil, nil, err
		}
	}
	return made.graphs, fresh, nil
}
