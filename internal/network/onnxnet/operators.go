package onnxnet

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/spatial"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
)

// readers make layers of the operators that have one input which depends on the image.
// What is computed from pieces, as activations are, is recognised by its values.
var readers = map[string]func(*lifter, *layerChain, *node){
	"Pad":                (*lifter).pad,
	"Conv":               (*lifter).conv,
	"MaxPool":            (*lifter).pool,
	"AveragePool":        (*lifter).pool,
	"GlobalAveragePool":  (*lifter).globalPool,
	"GlobalMaxPool":      (*lifter).globalPool,
	"ReduceMean":         (*lifter).globalPool,
	"ReduceMax":          (*lifter).globalPool,
	"BatchNormalization": (*lifter).batchNorm,
	"LayerNormalization": (*lifter).layerNorm,
	"LpNormalization":    (*lifter).liftUnit,
	"Gemm":               (*lifter).gemm,
	"MatMul":             (*lifter).matMul,
	"Add":                (*lifter).affine,
	"Sub":                (*lifter).affine,
	"Mul":                (*lifter).affine,
	"Div":                (*lifter).affine,
}

// operator lifts a node with one input that depends on the image. Like the readers of the operators it fails as
// operators do.
func (l *lifter) operator(s *layerChain, n *node) {
	for i, v := range n.in {
		if v == nil && n.Inputs[i] != "" {
			operator.Fail("its input %q is an input of the model besides the image", n.Inputs[i])
		}
	}
	if n.Op != "Pad" && n.Op != "Conv" && n.Op != "MaxPool" && n.Op != "AveragePool" && s.form.pad != [4]int{} {
		operator.Fail("its input is padded, which only convolutions and pools take over")
	}
	if s.form.drop != 0 && !isReduction(n.Op) {
		operator.Fail("its input lacks the first positions, which only a mean takes over")
	}
	if n.in[0] == nil || tensor.Size(n.sources()[0].shape) != s.form.len() {
		operator.Fail("its input is of shape %d, where an image of %s is expected", n.sources()[0].shape, s.form)
	}
	read := readers[n.Op]
	if read == nil {
		operator.Check(errNoOperator)
	}
	read(l, s, n)
	s.i++
}

// weights returns the values of an input that must be constant and real.
func weights(n *node, at int, what string) *tensor.Tensor {
	if !n.hasInput(at) {
		operator.Fail("it has no %s", what)
	}
	if n.in[at].known == nil || !n.in[at].known.IsFloat() {
		operator.Fail("its %s %q are not constant numbers", what, n.in[at].name)
	}
	return n.in[at].known
}

// isImage checks that a node's input is 1 x channels x height x width as the form says.
func isImage(n *node, f imageLayout) {
	x := n.in[0].shape
	if len(x) != 4 || x[0] != 1 || x[1] != f.c || x[2]*x[3] != f.positions() ||
		!f.first && f.positions() > 1 && f.c > 1 {
		operator.Fail("its input of shape %d is not an image with %d channels in front", x, f.c)
	}
}

// pad keeps what a Pad adds to height and width for the operator that follows.
func (l *lifter) pad(s *layerChain, n *node) {
	before, after := zeroPads(l.g.call(n), n)
	f, at := s.form, 2
	if len(before) != 4 {
		operator.Fail("its input of shape %d is not an image", n.in[0].shape)
	}
	if !f.first {
		at = 1
	}
	for i := range before {
		if i != at && i != at+1 && before[i]+after[i] != 0 {
			operator.Fail("it pads axis %d, neither height nor width", i)
		}
	}
	// Zeros are the least that a maximum sees only where nothing is negative.
	for i := range 2 {
		f.pad[i] += before[at+i]
		f.pad[2+i] += after[at+i]
	}
	f.h += before[at] + after[at]
	f.w += before[at+1] + after[at+1]
	s.form = f
}

// geometry adds a Pad that came before to a window, and sets the layer's kernel and
// padding: end more at the bottom and on the right.
func geometry(l *layer, w *spatial.Window, f imageLayout) {
	top, left := w.Before[0]+f.pad[0], w.Before[1]+f.pad[1]
	bottom, right := w.After[0]+f.pad[2]+uncovered(w, 0), w.After[1]+f.pad[3]+uncovered(w, 1)
	l.Kernel, l.Pad, l.PadEnd = w.Kernel[0], top, bottom-top
	uneven := w.Kernel[0] != w.Kernel[1] || top != left
	if uneven && l.Kind == nn.Conv {
		l.KernelW, l.PadW, uneven = w.Kernel[1], left, false
	}
	if uneven || bottom-top != right-left || bottom < top {
		operator.Fail("a kernel of %d padded by %d, %d, %d and %d at the top, left, bottom and right: "+
			"layers here have at least as much at the bottom and on the right, by as much on both, and pools are "+
			"square with the same at the top and on the left",
			w.Kernel, top, left, bottom, right)
	}
}

func (l *lifter) conv(s *layerChain, n *node) {
	isImage(n, s.form)
	w := weights(n, 1, "filters")
	c := l.g.call(n)
	win := imageWindow(c, n)
	groups := c.Int("group", 1)
	out := w.Shape[0]
	if groups < 1 || groups > 1<<20 || w.Shape[1]*int(groups) != s.form.c || out < 1 || out%int(groups) != 0 ||
		w.Shape[2] != win.Kernel[0] || w.Shape[3] != win.Kernel[1] {
		operator.Fail("filters of %d in %d groups for %d channels", w.Shape, groups, s.form.c)
	}
	made := &layer{Layer: nn.Layer{Kind: nn.Conv, Out: out}, from: n, hint: n.Inputs[1]}
	if win.Stride[0] > 1 {
		made.Stride = win.Stride[0]
	}
	geometry(made, win, s.form)
	switch {
	case int(groups) == s.form.c && groups > 1:
		made.Groups = -1
	case groups > 1:
		made.Groups = int(groups)
	}
	made.set("weight", w.Shape, slices.Clone(w.Floats))
	made.NoBias = !n.hasInput(2)
	if !made.NoBias {
		b := weights(n, 2, "biases")
		if b.Len() != out {
			operator.Fail("%d biases for %d filters", b.Len(), out)
		}
		made.set("bias", []int{out}, slices.Clone(b.Floats))
	}
	s.add(made, imageLayout{first: true, h: win.Out[0], w: win.Out[1], c: out})
}

func (l *lifter) pool(s *layerChain, n *node) {
	isImage(n, s.form)
	c := l.g.call(n)
	x := n.in[0].shape
	padded := slices.ContainsFunc(c.List("pads"), func(p int64) bool { return p != 0 })
	if k := c.List("kernel_shape"); n.Op == "AveragePool" && len(k) == 2 && int(k[0]) == x[2] && int(k[1]) == x[3] &&
		s.form.isSettled() && !padded && x[2]*x[3] > 1 {
		s.add(&layer{Layer: nn.Layer{Kind: nn.GlobalAvgPool}, from: n},
			imageLayout{first: true, h: 1, w: 1, c: s.form.c})
		return
	}
	win := imageWindow(c, n)
	made := &layer{Layer: nn.Layer{Kind: nn.MaxPool, Stride: win.Stride[0]}, from: n}
	geometry(made, win, s.form)
	if n.Op == "MaxPool" && s.form.pad != [4]int{} && !isNonNegative(s.last()) {
		operator.Fail("its input is padded with zeros, which are larger than negative values: " +
			"pools here leave padding out")
	}
	if n.Op == "AveragePool" {
		made.Kind = nn.AvgPool
		// What ceil_mode adds is never counted; what a Pad has added always is.
		padded := slices.Max(slices.Concat(win.Before, win.After)) > 0
		rounded := uncovered(win, 0)+uncovered(win, 1) > 0
		made.NoPad = (padded || rounded) && (c.Int("count_include_pad", 0) == 0 || !padded)
		if made.NoPad && s.form.pad != [4]int{} || !made.NoPad && rounded {
			operator.Fail("its means count some of the padding and not all: those here count all or none")
		}
	}
	s.add(made, imageLayout{first: true, h: win.Out[0], w: win.Out[1], c: s.form.c})
}

// isNonNegative reports whether a layer's outputs are never negative.
func isNonNegative(l *layer) bool {
	return l != nil && (l.Kind == nn.ReLU || l.Kind == nn.ReLU6 || l.Kind == nn.Sigmoid || l.Kind == nn.HardSigmoid)
}

// globalPool lifts means and maxima over all positions.
func (l *lifter) globalPool(s *layerChain, n *node) {
	f, x := s.form, n.in[0].shape
	var axes []int
	if n.Op == "GlobalAveragePool" || n.Op == "GlobalMaxPool" {
		for i := 2; i < len(x); i++ {
			axes = append(axes, i)
		}
	} else {
		axes, _ = l.g.call(n).ReduceAxes(x)
	}
	// Each result must be that of one channel at all positions, in their order.
	own := tensor.Strides(x)
	channels := 1
	for i, d := range x {
		if !slices.Contains(axes, i) {
			channels *= d
		}
	}
	ok := channels == f.c
	for offset := 0; ok && offset < f.len(); offset++ {
		at := 0 // of the result that the value goes into
		for i, d := range x {
			if !slices.Contains(axes, i) {
				at = at*d + offset/own[i]%d
			}
		}
		_, c := f.place(offset)
		ok = c == at
	}
	if !ok {
		operator.Fail("it goes over axes %d of %d, which are not the positions of an image of %s", axes, x, f)
	}
	to := imageLayout{first: true, h: 1, w: 1, c: f.c}
	if n.Op == "GlobalAveragePool" || n.Op == "ReduceMean" {
		if f.positions() == 1 && f.drop == 0 {
			s.form = to
			return
		}
		s.add(&layer{Layer: nn.Layer{Kind: nn.GlobalAvgPool, At: f.drop}, from: n}, to)
		return
	}
	if f.h != f.w || f.drop != 0 {
		operator.Fail("a maximum over all positions is known of square images only")
	}
	s.add(&layer{Layer: nn.Layer{Kind: nn.MaxPool, Kernel: f.h}, from: n}, to)
}

func (l *lifter) batchNorm(s *layerChain, n *node) {
	x := n.in[0].shape
	if len(x) < 2 || x[1] != s.form.c || !s.form.first && s.form.positions() > 1 {
		operator.Fail("its input of shape %d has no channels in front", x)
	}
	c := l.g.call(n)
	made := &layer{from: n, Layer: nn.Layer{Kind: nn.BatchNorm, Eps: shortestFloat64(c.Float("epsilon", 1e-5)),
		Momentum: 1 - shortestFloat64(c.Float("momentum", 0.9))}}
	made.Momentum = float64(int(made.Momentum*1e6+0.5)) / 1e6
	for i, name := range []string{"weight", "bias", "running_mean", "running_var"} {
		w := weights(n, i+1, name)
		if w.Len() != s.form.c {
			operator.Fail("%d values of %s for %d channels", w.Len(), name, s.form.c)
		}
		made.set(name, []int{s.form.c}, slices.Clone(w.Floats))
	}
	made.hint = n.Inputs[1]
	s.add(made, s.form)
}

func (l *lifter) layerNorm(s *layerChain, n *node) {
	c := l.g.call(n)
	x := n.in[0].shape
	axis := c.Axis("axis", -1, len(x))
	if s.form.first && s.form.positions() > 1 || tensor.Size(x[axis:]) != s.form.c {
		operator.Fail("it goes over axes %d to %d of %d, which are not the channels of %s", axis, len(x)-1, x, s.form)
	}
	made := &layer{from: n, Layer: nn.Layer{Kind: nn.LayerNorm, Eps: shortestFloat64(c.Float("epsilon", 1e-5))}}
	for i, name := range []string{"weight", "bias"} {
		values := make([]float32, s.form.c) // a bias that is left out
		if i == 0 || n.hasInput(2) {
			w := weights(n, i+1, name)
			if w.Len() != s.form.c {
				operator.Fail("%d values of %s for %d channels", w.Len(), name, s.form.c)
			}
			copy(values, w.Floats)
		}
		made.set(name, []int{s.form.c}, values)
	}
	made.hint = n.Inputs[1]
	s.add(made, s.form)
}

// liftUnit is LpNormalization of a vector.
func (l *lifter) liftUnit(s *layerChain, n *node) {
	c := l.g.call(n)
	x := n.in[0].shape
	axis := c.Axis("axis", -1, len(x))
	if c.Int("p", 2) != 2 || x[axis] != s.form.len() {
		operator.Fail("a norm of order %d along axis %d of %d: only the length of a vector is known", c.Int("p",
			2), axis, x)
	}
	s.add(&layer{Layer: nn.Layer{Kind: nn.L2Normalize}, from: n}, s.form)
}

func (l *lifter) gemm(s *layerChain, n *node) {
	c := l.g.call(n)
	w := weights(n, 1, "weights")
	if c.Int("transA", 0) != 0 || n.in[0].known != nil {
		operator.Fail("its image is transposed")
	}
	in, out, values := w.Shape[0], w.Shape[1], []float32(nil)
	alpha, beta := c.Float("alpha", 1), c.Float("beta", 1)
	if c.Int("transB", 0) != 0 {
		in, out = out, in
		values = append(values, w.Floats...)
	} else {
		values = transposed(w.View([]int{in, out}))
	}
	for i := range values {
		values[i] *= alpha
	}
	var bias []float32
	if n.hasInput(2) {
		b, err := spread(weights(n, 2, "biases"), []int{1, out})
		if err != nil {
			operator.Fail("its biases: %w", err)
		}
		bias = slices.Clone(b.Floats)
		for i := range bias {
			bias[i] *= beta
		}
	}
	l.liftLinear(s, n, in, out, values, bias)
}

func (l *lifter) matMul(s *layerChain, n *node) {
	w := weights(n, 1, "weights")
	if n.in[0].known != nil {
		operator.Fail("its weights are not its second input")
	}
	if len(w.Shape) < 2 || tensor.Size(w.Shape[:len(w.Shape)-2]) != 1 {
		operator.Fail("weights of shape %d are not a matrix", w.Shape)
	}
	in, out := w.Shape[len(w.Shape)-2], w.Shape[len(w.Shape)-1]
	l.liftLinear(s, n, in, out, transposed(w.View([]int{in, out})), nil)
}

// liftLinear adds a linear layer, or a dense one where there is one position or
// all are taken together.
func (l *lifter) liftLinear(s *layerChain, n *node, in, out int, w, bias []float32) {
	f, x := s.form, n.in[0].shape
	made := &layer{Layer: nn.Layer{Kind: nn.Dense, Out: out, NoBias: bias == nil}, from: n, hint: n.Inputs[1]}
	if len(x) == 0 || x[len(x)-1] != in {
		operator.Fail("%d inputs for values of shape %d", in, x)
	}
	to := imageLayout{h: 1, w: 1, c: out}
	switch {
	case in == f.len() && f.positions() == 1:
	case in == f.len():
		s.layers = append(s.layers, &layer{Layer: nn.Layer{Kind: nn.Flatten}, from: n})
		if !f.first { // to channel first, as layers are on disk
			from := make([]float32, len(w))
			for o := range out {
				for p := range f.positions() {
					for c := range f.c {
						from[o*in+c*f.positions()+p] = w[o*in+p*f.c+c]
					}
				}
			}
			w = from
		}
	case in == f.c && (!f.first || f.positions() == 1):
		made.Kind = nn.Linear
		to.h, to.w = f.h, f.w
	default:
		operator.Fail("%d inputs for an image of %s", in, f)
	}
	made.set("weight", []int{out, in}, w)
	if bias != nil {
		made.set("bias", []int{out}, bias)
	}
	s.add(made, to)
}

// affine lifts sums and products with constants: a bias, a scale for each
// channel, or position embeddings.
func (l *lifter) affine(s *layerChain, n *node) {
	f, at := s.form, 0
	if n.in[0].known != nil {
		at = 1
	}
	if len(n.in) != 2 || n.in[1-at] == nil || n.in[1-at].known == nil {
		operator.Fail("it needs a constant")
	}
	x, k := n.in[at].shape, n.in[1-at].known
	values := operator.Must(spread(k, x))
	table := make([]float32, f.len()) // by position and channel
	byChannel := true
	for i := range table {
		p, c := f.place(i)
		table[p*f.c+c] = float32(values.Value(i))
	}
	for i, v := range table {
		byChannel = byChannel && v == table[i%f.c]
	}
	var scale, shift []float32
	fill := func(g func(float32) float32) []float32 {
		out := make([]float32, f.c)
		for c := range out {
			out[c] = g(table[c])
		}
		return out
	}
	same := func(v float32) float32 { return v }
	negative := func(v float32) float32 { return -v }
	switch {
	case n.Op == "Add" && !byChannel:
		made := &layer{Layer: nn.Layer{Kind: nn.Positions}, from: n, hint: nameHint([]*node{n})}
		made.set("", []int{1, f.positions(), f.c}, table)
		s.add(made, f)
		return
	case !byChannel:
		operator.Fail("it differs by position: only sums do here (position embeddings)")
	case n.Op == "Add":
		shift = fill(same)
	case n.Op == "Mul":
		scale = fill(same)
	case n.Op == "Div" && at == 0:
		scale = fill(func(v float32) float32 { return 1 / v })
	case n.Op == "Sub" && at == 0:
		shift = fill(negative)
	case n.Op == "Sub":
		scale, shift = fill(func(float32) float32 { return -1 }), fill(same)
	default:
		operator.Fail("a constant is divided by the image")
	}
	// Behind a convolution this is a batch norm that is folded back; behind others
	// a scale is a layer's own (layer scale).
	last := s.last()
	fold := last != nil && last.isWeighted() && last.Out == f.c && (scale == nil || last.Kind == nn.Conv)
	if fold {
		if strings.Contains(last.hint, "::") {
			last.hint = nameHint([]*node{n}) // of a matrix without a name, but with a bias
		}
		last.affine(scale, shift)
		return
	}
	for i, values := range [][]float32{scale, shift} {
		if values == nil {
			continue
		}
		kind := []nn.Kind{nn.Scale, nn.Shift}[i]
		made := &layer{Layer: nn.Layer{Kind: kind}, from: n, hint: nameHint([]*node{n})}
		made.set("", []int{f.c}, values)
		s.layers = append(s.layers, made)
	}
}
