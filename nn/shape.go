package nn

import (
	"errors"
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
	// Unread are the rows and columns at the end of the input that no window of a pool
	// or convolution reaches.
	Unread [2]int
}

// node is one layer of the flattened tree. Values are numbered: 0 is the
// network's input, and every node makes the next one.
type node struct {
	layer   *Layer
	path    string // for messages
	prefix  string // of parameter names, with the dot
	in, out int
	top     int   // the network's layer that it belongs to
	short   int   // Residual and Multiply: the value added to in, or multiplied with it
	parts   []int // Concat: the values side by side, of which in is the first
}

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
	switch l.Kind {
	case Sequential:
		return g.sequence(l.Layers, inner, in)
	case Concat:
		return g.concat(l, path, inner, in)
	case Residual, Multiply:
		short, err := g.sequence(l.Shortcut, inner, in)
		if err != nil {
			return 0, err
		}
		out, err := g.sequence(l.Layers, inner, in)
		if err != nil {
			return 0, err
		}
		a, b := g.values[out], g.values[short]
		perChannel := l.Kind == Multiply && a.shape == Shape{1, 1, b.shape.C} && !b.flat
		if (a.shape != b.shape || a.flat != b.flat) && !perChannel {
			return 0, fmt.Errorf("layer %s (%s): its layers make %s but its shortcut %s", path, l.Kind, a.shape,
				b.shape)
		}
		if out == short {
			return 0, fmt.Errorf("layer %s (%s): neither its layers nor its shortcut compute anything", path, l.Kind)
		}
		return g.emit(node{layer: l, path: path, prefix: inner, in: out, short: short}, b), nil
	}
	for _, name := range l.params() {
		if l.Name == "" {
			return 0, fmt.Errorf("layer %s (%s): a layer with parameters needs a name", path, l.Kind)
		}
		name = parameter(inner, name)
		if other, taken := g.names[name]; taken {
			return 0, fmt.Errorf("layer %s (%s): another layer has the same name (%s of %s)", path, l.Kind, name, other)
		}
		g.names[name] = path
	}
	v, err := outValue(l, g.values[in])
	if err != nil {
		return 0, fmt.Errorf("layer %s (%s): %w", path, l.Kind, err)
	}
	if v.shape.Len() > math.MaxInt32 {
		return 0, fmt.Errorf("layer %s (%s): its output %s is too large", path, l.Kind, v.shape)
	}
	return g.emit(node{layer: l, path: path, prefix: inner, in: in}, v), nil
}

// concat appends branches that start from value in, and what puts them side by
// side.
func (g *graph) concat(l *Layer, path, inner string, in int) (int, error) {
	n := node{layer: l, path: path, prefix: inner}
	var v value
	for i := range l.Layers {
		out, err := g.add(&l.Layers[i], inner, in)
		if err != nil {
			return 0, err
		}
		b := g.values[out]
		if i == 0 {
			n.in, v = out, b
		} else if a, s := v.shape, b.shape; a.H != s.H || a.W != s.W || v.grid != b.grid {
			return 0, fmt.Errorf("layer %s (%s): its branches make %d x %d and %d x %d positions", path, l.Kind, a.H,
				a.W, s.H, s.W)
		} else {
			v.shape.C += s.C
		}
		if b.flat && b.shape.H*b.shape.W > 1 {
			return 0, fmt.Errorf("layer %s (%s): a branch makes the flattened values of %s", path, l.Kind, b.shape)
		}
		v.flat = v.flat && b.flat
		n.parts = append(n.parts, out)
	}
	if v.shape.C > 1<<24 || v.shape.Len() > math.MaxInt32 {
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
		n.in, n.short = as[n.in], as[n.short]
		for i, p := range n.parts {
			if i == 0 {
				n.parts = slices.Clone(n.parts)
			}
			n.parts[i] = as[p]
		}
		if skip(&n) {
			as[n.out] = n.in
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

// check tests what can be said about a layer without knowing its input.
func (l *Layer) check() error {
	if err := checkName("kind", l.Kind, Kinds()); err != nil {
		return err
	}
	if err := l.alien(); err != nil {
		return err
	}
	const large = 1 << 20
	window, pool := l.is(Conv, MaxPool, AvgPool), l.is(MaxPool, AvgPool)
	switch {
	case l.is(Conv, Dense, Linear, Tokens, Channels) && (l.Out < 1 || l.Out > large):
		return fmt.Errorf("out = %d; it must be in 1..%d", l.Out, large)
	case window && (l.Kernel < 1 || l.Kernel > large):
		return fmt.Errorf("kernel = %d; it must be in 1..%d", l.Kernel, large)
	case l.KernelW < 0 || l.KernelW > large:
		return fmt.Errorf("kernel_w = %d; it must be in 0..%d", l.KernelW, large)
	case l.PadW < 0 || l.PadW > large || l.PadW > 0 && l.KernelW == 0:
		return fmt.Errorf("pad_w = %d; it must be in 0..%d, and goes with kernel_w", l.PadW, large)
	case l.Kind == Concat && len(l.Layers) == 0:
		return errors.New("it has no branches")
	case l.Kind == Shuffle && l.Groups < 1:
		return fmt.Errorf("groups = %d; it must be positive", l.Groups)
	case l.Stride < 0 || l.Stride > large:
		return fmt.Errorf("stride = %d; it must be in 1..%d", l.Stride, large)
	case l.Pad < 0 || l.Pad > large:
		return fmt.Errorf("pad = %d; it must be in 0..%d", l.Pad, large)
	case l.PadEnd < 0 || l.PadEnd > large:
		return fmt.Errorf("pad_end = %d; it must be in 0..%d", l.PadEnd, large)
	case l.Groups < -1:
		return fmt.Errorf("groups = %d; it must be positive, or -1 for depthwise", l.Groups)
	case l.Heads < 0:
		return fmt.Errorf("heads = %d; it must be positive", l.Heads)
	case l.At < 0:
		return fmt.Errorf("at = %d; it must not be negative", l.At)
	case pool && l.Pad+l.PadEnd > l.Kernel/2:
		return fmt.Errorf("pad %d is more than half of the kernel %d", l.Pad+l.PadEnd, l.Kernel)
	case l.Kind == MaxPool && l.Kernel > 15:
		return fmt.Errorf("kernel = %d; maximum pools go up to 15", l.Kernel)
	case !(l.Rate >= 0 && l.Rate < 1):
		return fmt.Errorf("rate = %v; it must be at least 0 and below 1", l.Rate)
	case !(l.Momentum >= 0 && l.Momentum <= 1):
		return fmt.Errorf("momentum = %v; it must be in 0..1", l.Momentum)
	case !(l.Eps >= 0 && l.Eps < math.Inf(1)):
		return fmt.Errorf("eps = %v; it must be a positive number", l.Eps)
	case math.IsNaN(l.Start) || math.IsInf(l.Start, 0) || l.Kind == GEMPool && l.Start < 0:
		return fmt.Errorf("start = %v; it must be a finite number, of gem_pool a positive one", l.Start)
	}
	return checkName("init", l.Init, inits())
}

func (l *Layer) is(kinds ...Kind) bool { return slices.Contains(kinds, l.Kind) }

// alien reports fields that are set and mean nothing to the kind.
func (l *Layer) alien() error {
	var errs []error
	field := func(name string, set bool, kinds ...Kind) {
		if set && !l.is(kinds...) {
			errs = append(errs, fmt.Errorf("%s means nothing here", name))
		}
	}
	field("out", l.Out != 0, Conv, Dense, Linear, Tokens, Channels)
	field("kernel", l.Kernel != 0, Conv, MaxPool, AvgPool)
	field("kernel_w", l.KernelW != 0, Conv)
	field("pad_w", l.PadW != 0, Conv)
	field("stride", l.Stride != 0, Conv, MaxPool, AvgPool)
	field("pad", l.Pad != 0, Conv, MaxPool, AvgPool)
	field("pad_end", l.PadEnd != 0, Conv, MaxPool, AvgPool)
	field("no_pad", l.NoPad, AvgPool)
	field("channel_first", l.ChannelFirst, Flatten)
	field("groups", l.Groups != 0, Conv, Shuffle)
	field("heads", l.Heads != 0, Attention)
	field("at", l.At != 0, Tokens, TakeToken, GlobalAvgPool, Channels)
	field("no_bias", l.NoBias, Conv, Dense, Linear)
	field("init", l.Init != "", Conv, Dense, Linear)
	field("start", l.Start != 0, Scale, Shift, GEMPool)
	field("momentum", l.Momentum != 0, BatchNorm)
	field("eps", l.Eps != 0, BatchNorm, LayerNorm, GEMPool)
	field("rate", l.Rate != 0, Dropout, StochasticDepth)
	field("layers", l.Layers != nil, Sequential, Residual, Multiply, Concat)
	field("shortcut", l.Shortcut != nil, Residual, Multiply)
	return errors.Join(errs...)
}

// outValue infers what a plain layer makes of its input.
func outValue(l *Layer, in value) (value, error) {
	s := in.shape
	if in.flat && s.H*s.W > 1 && l.is(Channels, Shuffle) {
		return value{}, fmt.Errorf("it needs channels, but its input was flattened to %d values", s.Len())
	}
	if in.flat && l.is(Conv, Linear, Attention, MaxPool, AvgPool, GlobalAvgPool, GEMPool, Tokens, TakeToken,
		Positions) {
		return value{}, fmt.Errorf("it needs an image, but its input was flattened to %d values", s.Len())
	}
	if in.grid.tokens > 0 && l.is(Conv, MaxPool, AvgPool) {
		return value{}, fmt.Errorf("it needs an image, but its input is a sequence of %d tokens", s.W)
	}
	positions := s.H * s.W
	switch l.Kind {
	case Conv:
		if g := groups(l, s); s.C%g != 0 || l.Out%g != 0 {
			return value{}, fmt.Errorf("%d groups do not divide both %d input and %d output channels", g, s.C, l.Out)
		}
		h, w, err := windows(l, s)
		return value{shape: Shape{h, w, l.Out}}, err
	case MaxPool, AvgPool:
		h, w, err := windows(l, s)
		return value{shape: Shape{h, w, s.C}}, err
	case Channels:
		if l.At+l.Out > s.C {
			return value{}, fmt.Errorf("channels %d to %d, but its input has %d", l.At, l.At+l.Out-1, s.C)
		}
		in.shape.C = l.Out
		return in, nil
	case Shuffle:
		if s.C%l.Groups != 0 {
			return value{}, fmt.Errorf("%d groups do not divide %d channels", l.Groups, s.C)
		}
		return in, nil
	case Linear:
		in.shape.C = l.Out
		return in, nil
	case Attention:
		if h := heads(l); s.C%(3*h) != 0 {
			return value{}, fmt.Errorf("%d channels are not queries, keys and values of %d heads", s.C, h)
		}
		in.shape.C = s.C / 3
		return in, nil
	case TakeToken, GlobalAvgPool:
		if l.At >= positions {
			return value{}, fmt.Errorf("at = %d, but its input has %d positions", l.At, positions)
		}
		return value{shape: Shape{1, 1, s.C}}, nil
	case GEMPool:
		return value{shape: Shape{1, 1, s.C}}, nil
	case Tokens:
		g := in.grid
		if g.tokens == 0 {
			g.h, g.w = s.H, s.W
		}
		if l.At > g.tokens {
			return value{}, fmt.Errorf("at = %d, but there are %d tokens before the image's own positions",
				l.At, g.tokens)
		}
		g.tokens += l.Out
		return value{shape: Shape{1, positions + l.Out, s.C}, grid: g}, nil
	case Flatten:
		if l.ChannelFirst {
			s = Shape{1, 1, s.Len()}
		}
		return value{shape: s, flat: true}, nil
	case Dense:
		if positions > 1 && !in.flat {
			return value{}, fmt.Errorf("its input is a %s image; put a flatten or a global average pool before it", s)
		}
		return value{shape: Shape{1, 1, l.Out}, flat: true}, nil
	}
	return in, nil
}

// windows counts the positions of a kernel on its padded input.
func windows(l *Layer, s Shape) (h, w int, err error) {
	padH, padW := 2*l.Pad+l.PadEnd, 2*l.padW()+l.PadEnd
	if l.Kernel > s.H+padH || l.kernelW() > s.W+padW {
		padded := ""
		switch {
		case l.PadEnd > 0:
			padded = fmt.Sprintf(" padded by %d and %d", l.Pad, l.Pad+l.PadEnd)
		case l.Pad > 0:
			padded = fmt.Sprintf(" padded by %d", l.Pad)
		}
		return 0, 0, fmt.Errorf("its %d x %d kernel is larger than its %d x %d input%s",
			l.Kernel, l.kernelW(), s.H, s.W, padded)
	}
	st := stride(l)
	return (s.H+padH-l.Kernel)/st + 1, (s.W+padW-l.kernelW())/st + 1, nil
}

// kernelW is the width of a window.
func (l *Layer) kernelW() int {
	if l.KernelW > 0 {
		return l.KernelW
	}
	return l.Kernel
}

// padW is the padding on the left and right.
func (l *Layer) padW() int {
	if l.KernelW > 0 {
		return l.PadW
	}
	return l.Pad
}

func heads(l *Layer) int { return max(l.Heads, 1) }

func stride(l *Layer) int {
	switch {
	case l.Stride > 0:
		return l.Stride
	case l.Kind == Conv:
		return 1
	}
	return l.Kernel
}

func groups(l *Layer, in Shape) int {
	switch l.Groups {
	case 0:
		return 1
	case -1:
		return in.C
	}
	return l.Groups
}

// features is the number of values that batch norm treats separately.
func features(v value) int {
	if v.flat {
		return v.shape.Len()
	}
	return v.shape.C
}

// String formats a shape as height x width x channels.
func (s Shape) String() string { return fmt.Sprintf("%d x %d x %d", s.H, s.W, s.C) }
