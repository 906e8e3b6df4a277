package nn

// descriptor describes a kind of layers. The layers that it is
// asked about have their defaults written out, except in check and defaults.
type descriptor interface {
	// fields lists the fields of Layer, by their names in JSON, that apply to the kind
	// beside kind and name.
	fields() []string
	// check tests a layer without its input, once all fields are in range.
	check(l *Layer) error
	// defaults writes out what is not set, for an input of the given shape.
	defaults(l *Layer, in Shape)
	// output returns the layer's output for a value.
	output(l *Layer, in value) (value, error)
	// names lists the names of its parameters after its own name; "" is a parameter with the name of
	// the layer.
	names(l *Layer) []string
	// params describes the parameters, in the order of names, without their values.
	params(n *node, in value) []*Param
	// macs is the number of multiply-adds for an image.
	macs(l *Layer, in, out Shape) int64
	// savedValues is how many values of an image node i keeps in training, in buffers of its
	// own, for the backward pass to read.
	savedValues(g *graph, i int) int64
	// step makes the step that runs node i with those behind it that it absorbs, and
	// names the last of these; nil passes its input on.
	step(c *compiler, i int) (step, int)
}

// branching is the descriptor of a layer that holds others: it appends them, and itself
// if it computes anything, and returns the last value. path is the layer's own,
// and inner what the names within start with.
type branching interface {
	descriptor
	add(g *graph, l *Layer, path, inner string, in int) (int, error)
}

// descriptorOf returns nil for a kind that is not known.
func descriptorOf(k Kind) descriptor {
	for i := range descriptors {
		if descriptors[i].kind == k {
			return descriptors[i].descriptor
		}
	}
	return nil
}

// baseLayer has what most layers have in common: no fields, no parameters, an output like
// the input, which is kept.
type baseLayer struct{}

func (baseLayer) fields() []string                         { return nil }
func (baseLayer) check(*Layer) error                       { return nil }
func (baseLayer) defaults(*Layer, Shape)                   {}
func (baseLayer) output(_ *Layer, in value) (value, error) { return in, nil }
func (baseLayer) names(*Layer) []string                    { return nil }
func (baseLayer) params(*node, value) []*Param             { return nil }
func (baseLayer) macs(*Layer, Shape, Shape) int64          { return 0 }
func (baseLayer) savedValues(g *graph, i int) int64        { return g.outputLen(i) }

// outputLen is the number of values that node i makes.
func (g *graph) outputLen(i int) int64 { return int64(g.values[g.nodes[i].out].shape.Len()) }

// followsKind reports whether node i takes what the node before it makes, one of kind k.
func (g *graph) followsKind(i int, k Kind) bool {
	return i > 0 && g.nodes[i-1].out == g.nodes[i].input() && g.nodes[i-1].layer.Kind == k
}
