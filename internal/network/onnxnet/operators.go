package onnxnet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
)

// operator lifts a node with one input that depends on the image.
func (l *lifter) operator(s *layerChain, n *node) error {
	for i, v := range n.in {
		if v == nil && n.Inputs[i] != "" {
			return fmt.Errorf("its input %q is an input of the model besides the image", n.Inputs[i])
		}
	}
	if n.Op != "Pad" && n.Op != "Conv" && n.Op != "MaxPool" && n.Op != "AveragePool" && s.form.pad != [4]int{} {
		return errors.New("its input is padded, which only convolutions and pools take over")
	}
	if s.form.drop != 0 && !isReduction(n.Op) {
		return errors.New("its input lacks the first positions, which only a mean takes over")
	}
	if n.in[0] == nil || product(n.sources()[0].shape) != s.form.len() {
		return fmt.Errorf("its input is of shape %d, where an image of %s is expected", n.sources()[0].shape, s.form)
	}
	read := readers[n.Op]
	if read == nil {
		return errNoOperator
	}
	if err := read(l, s, n); err != nil {
		return err
	}
	s.i++
	return nil
}

// weights returns the values of an input that must be constant and real.
func weights(n *node, at int, what string) (*array, error) {
	if at >= len(n.in) || n.in[at] == nil {
		return nil, fmt.Errorf("it has no %s", what)
	}
	if n.in[at].known == nil || !n.in[at].known.isReal() {
		return nil, fmt.Errorf("its %s %q are not constant numbers", what, n.in[at].name)
	}
	return n.in[at].known, nil
}

func hasInput(n *node, at int) bool { return at < len(n.in) && n.in[at] != nil }

// isImage checks that a node's input is 1 x channels x height x width as the form says.
func isImage(n *node, f imageLayout) error {
	x := n.in[0].shape
	if len(x) != 4 || x[0] != 1 || x[1] != f.c || x[2]*x[3] != f.positions() ||
		!f.first && f.positions() > 1 && f.c > 1 {
		return fmt.Errorf("its input of shape %d is not an image with %d channels in front", x, f.c)
	}
	return nil
}

// pad keeps what a Pad adds to height and width for the operator that follows.
func (l *lifter) pad(s *layerChain, n *node) error {
	in := make([]*array, len(n.in))
	for i, v := range n.in {
		if v != nil {
			in[i] = v.known
		}
	}
	before, after, err := l.g.pads(n, in)
	if err != nil {
		return err
	}
	f, at := s.form, 2
	if len(before) != 4 {
		return fmt.Errorf("its input of shape %d is not an image", n.in[0].shape)
	}
	if !f.first {
		at = 1
	}
	for i := range before {
		if i != at && i != at+1 && before[i]+after[i] != 0 {
			return fmt.Errorf("it pads axis %d, neither height nor width", i)
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
	return nil
}

// geometry adds a Pad that came before to a window, and sets the layer's kernel and
// padding: end more at the bottom and on the right.
func geometry(l *layer, w window, f imageLayout) error {
	top, left, bottom, right := w.pad[0]+f.pad[0], w.pad[1]+f.pad[1], w.pad[2]+f.pad[2], w.pad[3]+f.pad[3]
	bottom, right = bottom+w.ceil[0], right+w.ceil[1]
	l.Kernel, l.Pad, l.PadEnd = w.kernel[0], top, bottom-top
	uneven := !w.square() || top != left
	if uneven && l.Kind == nn.Conv {
		l.KernelW, l.PadW, uneven = w.kernel[1], left, false
	}
	if uneven || bottom-top != right-left || bottom < top {
		return fmt.Errorf("a kernel of %d padded by %d, %d, %d and %d at the top, left, bottom and right: "+
			"layers here have at least as much at the bottom and on the right, by as much on both, and pools are "+
			"square with the same at the top and on the left",
			w.kernel, top, left, bottom, right)
	}
	return nil
}

func (l *lifter) conv(s *layerChain, n *node) error {
	if err := isImage(n, s.form); err != nil {
		return err
	}
	w, err := weights(n, 1, "filters")
	if err != nil {
		return err
	}
	win, err := l.g.window(n)
	if err != nil {
		return err
	}
	a := attrs{node: n.Node}
	groups := a.int("group", 1)
	if a.err != nil {
		return a.err
	}
	out := w.shape[0]
	if groups < 1 || groups > 1<<20 || w.shape[1]*int(groups) != s.form.c || out < 1 || out%int(groups) != 0 ||
		w.shape[2] != win.kernel[0] || w.shape[3] != win.kernel[1] {
		return fmt.Errorf("filters of %d in %d groups for %d channels", w.shape, groups, s.form.c)
	}
	made := &layer{Layer: nn.Layer{Kind: nn.Conv, Out: out}, from: n, hint: n.Inputs[1]}
	if win.stride > 1 {
		made.Stride = win.stride
	}
	if err := geometry(made, win, s.form); err != nil {
		return err
	}
	switch {
	case int(groups) == s.form.c && groups > 1:
		made.Groups = -1
	case groups > 1:
		made.Groups = int(groups)
	}
	made.set("weight", w.shape, append([]float32(nil), w.reals...))
	made.NoBias = !hasInput(n, 2)
	if !made.NoBias {
		b, err := weights(n, 2, "biases")
		if err != nil {
			return err
		}
		if b.len() != out {
			return fmt.Errorf("%d biases for %d filters", b.len(), out)
		}
		made.set("bias", []int{out}, append([]float32(nil), b.reals...))
	}
	s.add(made, imageLayout{first: true, h: win.h, w: win.w, c: out})
	return nil
}

func (l *lifter) pool(s *layerChain, n *node) error {
	if err := isImage(n, s.form); err != nil {
		return err
	}
	a := attrs{node: n.Node}
	x := n.in[0].shape
	if k := a.ints("kernel_shape"); n.Op == "AveragePool" && len(k) == 2 && int(k[0]) == x[2] && int(k[1]) == x[3] &&
		s.form.isSettled() && zeros(a.ints("pads")) && x[2]*x[3] > 1 {
		s.add(&layer{Layer: nn.Layer{Kind: nn.GlobalAvgPool}, from: n},
			imageLayout{first: true, h: 1, w: 1, c: s.form.c})
		return nil
	}
	win, err := l.g.window(n)
	if err != nil {
		return err
	}
	made := &layer{Layer: nn.Layer{Kind: nn.MaxPool, Stride: win.stride}, from: n}
	if err := geometry(made, win, s.form); err != nil {
		return err
	}
	if n.Op == "MaxPool" && s.form.pad != [4]int{} && !isNonNegative(s.last()) {
		return errors.New("its input is padded with zeros, which are larger than negative values: " +
			"pools here leave padding out")
	}
	if n.Op == "AveragePool" {
		made.Kind = nn.AvgPool
		// What ceil_mode adds is never counted; what a Pad has added always is.
		none := win.pad == [4]int{} && win.ceil == [2]int{}
		made.NoPad = !none && (a.int("count_include_pad", 0) == 0 || win.pad == [4]int{})
		if made.NoPad && s.form.pad != [4]int{} || !none && !made.NoPad && win.ceil != [2]int{} {
			return errors.New("its means count some of the padding and not all: those here count all or none")
		}
	}
	if a.err != nil {
		return a.err
	}
	s.add(made, imageLayout{first: true, h: win.h, w: win.w, c: s.form.c})
	return nil
}

func zeros(v []int64) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// isNonNegative reports whether a layer's outputs are never negative.
func isNonNegative(l *layer) bool {
	return l != nil && (l.Kind == nn.ReLU || l.Kind == nn.ReLU6 || l.Kind == nn.Sigmoid || l.Kind == nn.HardSigmoid)
}

// globalPool lifts means and maxima over all positions.
func (l *lifter) globalPool(s *layerChain, n *node) error {
	f, x := s.form, n.in[0].shape
	var axes []int
	if n.Op == "GlobalAveragePool" || n.Op == "GlobalMaxPool" {
		for i := 2; i < len(x); i++ {
			axes = append(axes, i)
		}
	} else {
		var err error
		in := make([]*array, len(n.in))
		for i, v := range n.in {
			if v != nil {
				in[i] = v.known
			}
		}
		if axes, _, err = l.g.reduceAxes(n, x, in); err != nil {
			return err
		}
	}
	// Each result must be that of one channel at all positions, in their order.
	own := strides(x)
	kept, over := append([]int(nil), x...), make([]int, len(x))
	for i := range over {
		over[i] = 1
	}
	for _, i := range axes {
		kept[i], over[i] = 1, x[i]
	}
	starts, err := walk(kept, own, 0)
	if err != nil {
		return err
	}
	steps, err := walk(over, own, 0)
	if err != nil {
		return err
	}
	ok := len(starts) == f.c && len(steps) == f.positions()
	for k := 0; ok && k < len(starts); k++ {
		for _, d := range steps {
			if _, c := f.place(starts[k] + d); c != k {
				ok = false
			}
		}
	}
	if !ok {
		return fmt.Errorf("it goes over axes %d of %d, which are not the positions of an image of %s", axes, x, f)
	}
	to := imageLayout{first: true, h: 1, w: 1, c: f.c}
	if n.Op == "GlobalAveragePool" || n.Op == "ReduceMean" {
		if f.positions() == 1 && f.drop == 0 {
			s.form = to
			return nil
		}
		s.add(&layer{Layer: nn.Layer{Kind: nn.GlobalAvgPool, At: f.drop}, from: n}, to)
		return nil
	}
	if f.h != f.w || f.drop != 0 {
		return errors.New("a maximum over all positions is known of square images only")
	}
	s.add(&layer{Layer: nn.Layer{Kind: nn.MaxPool, Kernel: f.h}, from: n}, to)
	return nil
}

func (l *lifter) batchNorm(s *layerChain, n *node) error {
	x := n.in[0].shape
	if len(x) < 2 || x[1] != s.form.c || !s.form.first && s.form.positions() > 1 {
		return fmt.Errorf("its input of shape %d has no channels in front", x)
	}
	a := attrs{node: n.Node}
	made := &layer{from: n, Layer: nn.Layer{Kind: nn.BatchNorm, Eps: shortestFloat64(a.float("epsilon", 1e-5)),
		Momentum: 1 - shortestFloat64(a.float("momentum", 0.9))}}
	if a.err != nil {
		return a.err
	}
	made.Momentum = float64(int(made.Momentum*1e6+0.5)) / 1e6
	for i, name := range []string{"weight", "bias", "running_mean", "running_var"} {
		w, err := weights(n, i+1, name)
		if err != nil {
			return err
		}
		if w.len() != s.form.c {
			return fmt.Errorf("%d values of %s for %d channels", w.len(), name, s.form.c)
		}
		made.set(name, []int{s.form.c}, append([]float32(nil), w.reals...))
	}
	made.hint = n.Inputs[1]
	s.add(made, s.form)
	return nil
}

func (l *lifter) layerNorm(s *layerChain, n *node) error {
	a := attrs{node: n.Node}
	x := n.in[0].shape
	axis, err := tensor.AxisOf(a.int("axis", -1), len(x))
	if err := errors.Join(err, a.err); err != nil {
		return err
	}
	if s.form.first && s.form.positions() > 1 || product(x[axis:]) != s.form.c {
		return fmt.Errorf("it goes over axes %d to %d of %d, which are not the channels of %s", axis, len(x)-1, x,
			s.form)
	}
	made := &layer{from: n, Layer: nn.Layer{Kind: nn.LayerNorm, Eps: shortestFloat64(a.float("epsilon", 1e-5))}}
	for i, name := range []string{"weight", "bias"} {
		values := make([]float32, s.form.c) // a bias that is left out
		if i == 0 || hasInput(n, 2) {
			w, err := weights(n, i+1, name)
			if err != nil {
				return err
			}
			if w.len() != s.form.c {
				return fmt.Errorf("%d values of %s for %d channels", w.len(), name, s.form.c)
			}
			copy(values, w.reals)
		}
		made.set(name, []int{s.form.c}, values)
	}
	made.hint = n.Inputs[1]
	s.add(made, s.form)
	return nil
}

// liftUnit is LpNormalization of a vector.
func (l *lifter) liftUnit(s *layerChain, n *node) error {
	a := attrs{node: n.Node}
	x := n.in[0].shape
	axis, err := tensor.AxisOf(a.int("axis", -1), len(x))
	if err := errors.Join(err, a.err); err != nil {
		return err
	}
	if a.int("p", 2) != 2 || x[axis] != s.form.len() {
		return fmt.Errorf("a norm of order %d along axis %d of %d: only the length of a vector is known", a.int("p",
			2), axis, x)
	}
	s.add(&layer{Layer: nn.Layer{Kind: nn.L2Normalize}, from: n}, s.form)
	return nil
}

func (l *lifter) gemm(s *layerChain, n *node) error {
	a := attrs{node: n.Node}
	w, err := weights(n, 1, "weights")
	if err != nil {
		return err
	}
	if a.int("transA", 0) != 0 || n.in[0].known != nil {
		return errors.New("its image is transposed")
	}
	in, out, values := w.shape[0], w.shape[1], []float32(nil)
	alpha, beta := a.float("alpha", 1), a.float("beta", 1)
	if a.int("transB", 0) != 0 {
		in, out = out, in
		values = append(values, w.reals...)
	} else {
		values = transposed(w.reals, in, out)
	}
	for i := range values {
		values[i] *= alpha
	}
	var bias []float32
	if hasInput(n, 2) {
		b, err := weights(n, 2, "biases")
		if err != nil {
			return err
		}
		from, err := broadcastOffsets(b.shape, []int{1, out})
		if err != nil {
			return fmt.Errorf("its biases: %w", err)
		}
		bias = b.take([]int{out}, from).reals
		for i := range bias {
			bias[i] *= beta
		}
	}
	if a.err != nil {
		return a.err
	}
	return l.liftLinear(s, n, in, out, values, bias)
}

func transposed(v []float32, rows, cols int) []float32 {
	out := make([]float32, len(v))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = v[i*cols+j]
		}
	}
	return out
}

func (l *lifter) matMul(s *layerChain, n *node) error {
	w, err := weights(n, 1, "weights")
	if err != nil || n.in[0].known != nil {
		return errors.Join(err, errors.New("its weights are not its second input"))
	}
	if len(w.shape) < 2 || product(w.shape[:len(w.shape)-2]) != 1 {
		return fmt.Errorf("weights of shape %d are not a matrix", w.shape)
	}
	in, out := w.shape[len(w.shape)-2], w.shape[len(w.shape)-1]
	return l.liftLinear(s, n, in, out, transposed(w.reals, in, out), nil)
}

// liftLinear adds a linear layer, or a dense one where there is one position or
// all are taken together.
func (l *lifter) liftLinear(s *layerChain, n *node, in, out int, w, bias []float32) error {
	f, x := s.form, n.in[0].shape
	made := &layer{Layer: nn.Layer{Kind: nn.Dense, Out: out, NoBias: bias == nil}, from: n, hint: n.Inputs[1]}
	if len(x) == 0 || x[len(x)-1] != in {
		return fmt.Errorf("%d inputs for values of shape %d", in, x)
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
		return fmt.Errorf("%d inputs for an image of %s", in, f)
	}
	made.set("weight", []int{out, in}, w)
	if bias != nil {
		made.set("bias", []int{out}, bias)
	}
	s.add(made, to)
	return nil
}

// affine lifts sums and products with constants: a bias, a scale for each
// channel, or position embeddings.
func (l *lifter) affine(s *layerChain, n *node) error {
	f, at := s.form, 0
	if n.in[0].known != nil {
		at = 1
	}
	if len(n.in) != 2 || n.in[1-at] == nil || n.in[1-at].known == nil {
		return errors.New("it needs a constant")
	}
	x, k := n.in[at].shape, n.in[1-at].known
	from, err := broadcastOffsets(k.shape, x)
	if err != nil {
		return err
	}
	table := make([]float32, f.len()) // by position and channel
	byChannel := true
	for i, o := range from {
		p, c := f.place(i)
		v := float32(k.value(o))
		table[p*f.c+c] = v
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
		return nil
	case !byChannel:
		return errors.New("it differs by position: only sums do here (position embeddings)")
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
		return errors.New("a constant is divided by the image")
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
		return nil
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
	return nil
}
