package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// LayerInfo is what shape inference determines about one layer.
type LayerInfo struct {
	Path    string // the dotted name, or the kind and position of an unnamed layer
	Kind    Kind
	In, Out Shape
	Params  int   // learnable values
	MACs    int64 // multiply-accumulates for one image
	// UncoveredEdge counts the rows and columns at the end of the input that no window of a
	// pool or convolution reaches.
	UncoveredEdge [2]int
}

// node is one layer of the flattened tree. Values are numbered: 0 is the
// network's input, and every node makes the next one.
type node struct {
	kind      descriptor
	described *Layer // as it is described
	layer     *Layer // with its defaults written out
	path      string // for messages
	prefix    string // of parameter names, with the dot
	from      []int  // the values that it takes, as in Node
	out       int
	top       int // the network's layer that it belongs to
}

// input is the value that it takes, or the first.
func (n *node) input() int { return n.from[0] }

// shortcut is the value that a Residual adds to in, and a Multiply multiplies with it.
func (n *node) shortcut() int { return n.from[1] }

// maxLayers bounds the layers of a network, sequences and shortcuts counted too.
// The time to lay out their buffers grows with the square of their number.
const maxLayers = 10_000

// value is what flows between nodes: shape says how it lies in memory, flat that
// it counts as a vector, grid what the positions of a sequence are.
type value struct {
	shape Shape
	flat  bool
	grid  grid
}

// grid says of a sequence of positions that tokens of them were put before those
// of an image of h x w. The zero value belongs to images and vectors.
type grid struct {
	tokens, h, w int
}

// graph is the tree in execution order, with all shapes known.
type graph struct {
	nodes  []node
	values []value
	out    int               // the value that the network returns
	names  map[string]string // parameter -> path, to find duplicates
	count  int
	top    int // the network's layer that is being added
}

// Check reports the first layer that is not valid.
func (s *Spec) Check() error {
	_, err := s.flatten()
	return err
}

// OutDim is the length of the network's output. The spec must be valid.
func (s *Spec) OutDim() int {
	g, err := s.flatten()
	if err != nil {
		panic("nn: " + err.Error())
	}
	return g.values[len(g.values)-1].shape.Len()
}

func (s *Spec) flatten() (*graph, error) {
	in := s.Input
	if in.H < 1 || in.W < 1 || in.C < 1 {
		return nil, fmt.Errorf("network %s: input %s must be at least 1 x 1 x 1", s.Name, in)
	}
	if in.H > 1<<14 || in.W > 1<<14 || in.C > 1<<24 || in.Len() > math.MaxInt32 {
		return nil, fmt.Errorf("network %s: input %s is too large", s.Name, in)
	}
	if len(s.Layers) == 0 {
		return nil, fmt.Errorf("network %s: no layers", s.Name)
	}
	g := &graph{values: []value{{shape: in}}, names: map[string]string{}}
	out := 0
	for i := range s.Layers {
		var err error
		g.top = i
		if out, err = g.add(&s.Layers[i], "", out); err != nil {
			return nil, fmt.Errorf("network %s: %w", s.Name, err)
		}
	}
	if out == 0 {
		return nil, fmt.Errorf("network %s: no layer computes anything", s.Name)
	}
	g.out = out
	if v := g.values[out]; v.shape.H*v.shape.W > 1 && !v.flat {
		return nil, fmt.Errorf("network %s: the output is %s; end with a dense layer or a global average pool", s.Name,
			v.shape)
	}
	return g, nil
}

// sequence appends layers that start from value in and returns the last value.
func (g *graph) sequence(layers []Layer, prefix string, in int) (int, error) {
	for i := range layers {
		var err error
		if in, err = g.add(&layers[i], prefix, in); err != nil {
			return 0, err
		}
	}
	return in, nil
}

func (g *graph) add(l *Layer, prefix string, in int) (int, error) {
	if g.count++; g.count > maxLayers {
		return 0, fmt.Errorf("more than %d layers", maxLayers)
	}
	path := prefix + l.Name
	if l.Name == "" {
		path = fmt.Sprintf("%s%s#%d", prefix, l.Kind, g.count)
	}
	if strings.HasPrefix(l.Name, ".") || strings.HasSuffix(l.Name, ".") {
		return 0, fmt.Errorf("layer %q: a name must not start or end with a dot", path)
	}
	inner := prefix
	if l.Name != "" {
		inner = prefix + l.Name + "."
	}
	if err := l.check(); err != nil {
		return 0, fmt.Errorf("layer %s (%s): %w", path, l.Kind, err)
	}
	kind := descriptorOf(l.Kind)
	if l.Kind == Operators && in != 0 {
		return 0, fmt.Errorf("layer %s (%s): it must be the first, for layers before it would never be trained", path,
			l.Kind)
	}
	if b, ok := kind.(branching); ok {
		return b.add(g, l, path, inner, in)
	}
	for _, name := range kind.names(l) {
		if l.Name == "" {
			return 0, fmt.Errorf("layer %s (%s): a layer with parameters needs a name", path, l.Kind)
		}
		name = parameter(inner, name)
		if other, taken := g.names[name]; taken {
			return 0, fmt.Errorf("layer %s (%s): another layer has the same name (%s of %s)", path, l.Kind, name, other)
		}
		g.names[name] = path
	}
	n := node{kind: kind, described: l, layer: new(Layer), path: path, prefix: inner, from: []int{in}}
	*n.layer = *l
	kind.defaults(n.layer, g.values[in].shape)
	v, err := kind.output(n.layer, g.values[in])
	if err != nil {
		return 0, fmt.Errorf("layer %s (%s): %w", path, l.Kind, err)
	}
	if v.shape.Len() > math.MaxInt32 {
		return 0, fmt.Errorf("layer %s (%s): its output %s is too large", path, l.Kind, v.shape)
	}
	return g.emit(n, v), nil
}

// without returns the graph without some nodes, which pass their input on.
func (g *graph) without(skip func(n *node) bool) *graph {
	short := *g
	short.nodes = nil
	as := make([]int, len(g.values))
	for v := range as {
		as[v] = v
	}
	for _, n := range g.nodes {
		n.from = slices.Clone(n.from)
		for i, v := range n.from {
			n.from[i] = as[v]
		}
		if skip(&n) {
			as[n.out] = n.input()
			continue
		}
		short.nodes = append(short.nodes, n)
	}
	short.out = as[g.out]
	return &short
}

func (g *graph) emit(n node, v value) int {
	n.out, n.top = len(g.values), g.top
	g.values = append(g.values, v)
	g.nodes = append(g.nodes, n)
	return n.out
}

func (l *Layer) isOneOf(kinds ...Kind) bool { return slices.Contains(kinds, l.Kind) }

// String formats a shape as height x width x channels.
func (s Shape) String() string { return fmt.Sprintf("%d x %d x %d", s.H, s.W, s.C) }
