package graphrun

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// fusedEpilogue is what a product or convolution does with its result before it is stored: a scale and a
// shift for each channel, then a tensor that is added, then an activation.
type fusedEpilogue struct {
	biased       bool // the shift is in place of its own bias
	scale, shift []float32
	reads        []int // the value that is added, beside the node's inputs
	relu, relu6  bool
	act          func(y, x []float32)
}

// fuser joins nodes that one kernel does together.
type fuser struct {
	*Program
	readers   map[int][]*node
	maker     map[int]*node
	absorbed  map[*node]bool // they are part of another
	absorbers map[*node]bool // others are part of them
}

// fuse writes GELU and its relatives as one operator each, and has products and convolutions take
// over what follows them.
func (p *Program) fuse() {
	for _, step := range []func(f *fuser, n *node){(*fuser).fuseGate, (*fuser).absorb} {
		f := &fuser{Program: p, readers: map[int][]*node{}, maker: map[int]*node{},
			absorbed: map[*node]bool{}, absorbers: map[*node]bool{}}
		for _, n := range p.nodes {
			for _, v := range n.reads() {
				if v >= 0 && !slices.Contains(f.readers[v], n) {
					f.readers[v] = append(f.readers[v], n)
				}
			}
			for _, v := range n.out {
				f.maker[v] = n
			}
		}
		for _, v := range p.outputs {
			f.readers[v] = append(f.readers[v], nil)
		}
		for _, n := range slices.Clone(p.nodes) {
			if !f.absorbed[n] && !f.absorbers[n] {
				step(f, n)
			}
		}
		p.nodes = slices.DeleteFunc(p.nodes, func(n *node) bool { return f.absorbed[n] })
		p.dropUnread()
	}
}

// dropUnread drops nodes of which nothing reads a result.
func (p *Program) dropUnread() {
	needed := map[int]bool{}
	for _, v := range p.outputs {
		needed[v] = true
	}
	var kept []*node
	for _, n := range slices.Backward(p.nodes) {
		if !slices.ContainsFunc(n.out, func(v int) bool { return needed[v] }) {
			continue
		}
		for _, v := range n.reads() {
			needed[v] = true
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	p.nodes = kept
}

// reader returns the one node that reads what n makes, or nil.
func (f *fuser) reader(n *node) *node {
	if len(n.out) == 0 || n.out[0] < 0 || len(f.readers[n.out[0]]) != 1 {
		return nil
	}
	for _, v := range n.out[1:] {
		if len(f.readers[v]) > 0 {
			return nil
		}
	}
	if r := f.readers[n.out[0]][0]; !f.absorbed[r] && !f.absorbers[r] {
		return r
	}
	return nil
}

// isOp tells nodes of an operator of ONNX's own.
func (n *node) isOp(op string) bool {
	return n != nil && n.Op == op && (n.Domain == "" || n.Domain == "ai.onnx")
}

// number returns an input that is a single known number.
func (f *fuser) number(n *node, i int) (float64, bool) {
	if i >= len(n.in) || n.in[i] < 0 {
		return 0, false
	}
	t := f.values[n.in[i]].constant
	if t == nil || !t.IsFloat() || t.Len() != 1 || len(t.Shape) > 1 {
		return 0, false
	}
	return float64(t.Floats[0]), true
}

// constantFactor reports that a node multiplies or divides a value by a known number.
func (f *fuser) constantFactor(n *node) (x int, by float64, ok bool) {
	if !n.isOp("Mul") && !n.isOp("Div") {
		return 0, 0, false
	}
	if c, ok := f.number(n, 1); ok {
		if n.Op == "Div" {
			c = 1 / c
		}
		return n.in[0], c, true
	}
	if c, ok := f.number(n, 0); ok && n.Op == "Mul" {
		return n.in[1], c, true
	}
	return 0, 0, false
}

// near allows for constants that exporters have rounded to single precision, such as 0.7071067 for 1/sqrt(2).
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// fuseGate writes x s(k x), with s the logistic function or that of the normal distribution, as one
// operator.
func (f *fuser) fuseGate(n *node) {
	if !n.isOp("Erf") && !n.isOp("Sigmoid") || n.in[0] < 0 {
		return
	}
	x, scale := n.in[0], 1.0
	if v, by, ok := f.constantFactor(f.maker[x]); f.maker[x] != nil && ok {
		x, scale = v, by
	}
	// What follows: the sum with 1 of erf, factors, and x itself once.
	last, factor, multiplied := n, 1.0, false
	if n.Op == "Erf" {
		next := f.reader(n)
		if !next.isOp("Add") {
			return
		}
		a, ok := f.number(next, 0)
		b, ok2 := f.number(next, 1)
		if !(ok && a == 1) && !(ok2 && b == 1) {
			return
		}
		last = next
	}
	for !multiplied || n.Op == "Erf" && !near(factor, 0.5) {
		next := f.reader(last)
		if next == nil {
			return
		}
		if _, by, ok := f.constantFactor(next); ok {
			factor *= by
		} else if !next.isOp("Mul") || multiplied {
			return
		} else {
			other := next.in[0]
			if other == last.out[0] {
				other = next.in[1]
			}
			if other != x {
				v, by, ok := f.constantFactor(f.maker[other])
				if f.maker[other] == nil || !ok || v != x {
					return
				}
				factor *= by
			}
			multiplied = true
		}
		last = next
	}
	made := onnx.Node{Name: last.Name, Op: "Gelu"}
	switch {
	case n.Op == "Erf" && !near(scale, 1/math.Sqrt2), n.Op == "Sigmoid" && factor != 1:
		return
	case n.Op == "Sigmoid":
		made.Op = "Swish"
		made.Attrs = []onnx.Attr{{Name: "alpha", Type: onnx.AttrFloat, Float: float32(scale)}}
	}
	last.Node, last.compute, last.in = &made, operatorOf(&made), []int{x}
}

// absorb has a product or convolution with constant weights do what follows it.
func (f *fuser) absorb(n *node) {
	image := f.isConstantConv(n)
	if !image && !f.isConstantProduct(n) {
		return
	}
	j := &n.join
	if n.isOp("Gemm") && len(n.in) > 2 && n.in[2] >= 0 {
		c := f.attributes(n)
		beta := c.Float("beta", 1)
		v, ok := f.perChannel(n.in[2], n, false)
		if !ok {
			return
		}
		for i := range v {
			v[i] *= beta
		}
		j.shift, j.biased = v, true
	}
	last := n
	for {
		next := f.reader(last)
		if next == nil || !f.absorbNext(n, last, next, image) {
			break
		}
		f.absorbed[last], last = true, next
	}
	if last == n {
		return
	}
	f.absorbers[last] = true
	// It is computed where the last of them was, when all that is added is there.
	whole := *n
	whole.out = append([]int{last.out[0]}, n.out[1:]...)
	*last = whole
}

// attributes is a call that reads the attributes of a node, which the first run has checked.
func (f *fuser) attributes(n *node) *operator.Call {
	return &operator.Call{State: &f.run, Node: n.Node}
}

// isConstantConv tells convolutions of images by constant filters without gaps.
func (f *fuser) isConstantConv(n *node) bool {
	if !n.isOp("Conv") || len(n.in) < 2 || n.in[1] < 0 {
		return false
	}
	w := &f.values[n.in[1]]
	if w.constant == nil || len(w.constant.Shape) != 4 {
		return false
	}
	for _, d := range f.attributes(n).List("dilations") {
		if d != 1 {
			return false
		}
	}
	return len(n.in) < 3 || n.in[2] < 0 || f.values[n.in[2]].constant != nil
}

// isConstantProduct tells products with constant weights.
func (f *fuser) isConstantProduct(n *node) bool {
	if !n.isOp("MatMul") && !n.isOp("Gemm") || len(n.in) < 2 || n.in[1] < 0 || n.in[0] < 0 {
		return false
	}
	w, x := &f.values[n.in[1]], f.values[n.in[0]].shape
	c := f.attributes(n)
	return w.constant != nil && w.constant.IsFloat() && len(w.constant.Shape) == 2 && w.constant.Len() > 0 &&
		len(x) > 0 &&
		tensor.Size(x) > 0 && c.Int("transA", 0) == 0 && c.Float("alpha", 1) == 1
}

// channels is the number of channels of what a node makes.
func (f *fuser) channels(n *node, image bool) int {
	shape := f.values[n.out[0]].shape
	switch {
	case image && len(shape) == 4:
		return shape[1]
	case !image && len(shape) > 0:
		return shape[len(shape)-1]
	}
	return 0
}

// perChannel returns a known value that is one number for each channel of what n makes.
func (f *fuser) perChannel(v int, n *node, image bool) ([]float32, bool) {
	if v < 0 || f.values[v].constant == nil || !f.values[v].constant.IsFloat() || f.values[v].layout != AsIs {
		return nil, false
	}
	t, shape := f.values[v].constant, f.values[n.out[0]].shape
	ch := f.channels(n, image)
	if ch == 0 || len(t.Shape) > len(shape) || t.Len() != ch && t.Len() != 1 {
		return nil, false
	}
	axis := len(t.Shape) - 1
	if image {
		axis = len(t.Shape) - 3
	}
	if t.Len() > 1 && (axis < 0 || t.Shape[axis] != ch) {
		return nil, false
	}
	out := make([]float32, ch)
	for i := range out {
		out[i] = t.Floats[min(i, t.Len()-1)]
	}
	return out, true
}

// absorbNext adds what next does to the join of n, if that is possible.
func (f *fuser) absorbNext(n, last, next *node, image bool) bool {
	j := &n.join
	if j.relu || j.relu6 || j.act != nil {
		return false
	}
	c := f.attributes(next)
	switch {
	case next.isOp("BatchNormalization") && image && len(j.reads) == 0:
		for k := range 5 {
			if k > 0 && (k >= len(next.in) || next.in[k] < 0 || f.values[next.in[k]].constant == nil) {
				return false
			}
		}
		c.In = []*tensor.Tensor{nil}
		for _, v := range next.in[1:5] {
			c.In = append(c.In, f.values[v].constant)
		}
		ch := f.channels(n, image)
		if ch == 0 {
			return false
		}
		scale, shift := c.BatchNormAffine(ch)
		return f.affine(n, image, scale, shift)
	case next.isOp("Add") || next.isOp("Mul"):
		other := next.in[0]
		if other == last.out[0] {
			other = next.in[1]
		}
		if other == last.out[0] || other < 0 {
			return false
		}
		if v, ok := f.perChannel(other, n, image); ok && len(j.reads) == 0 {
			if next.Op == "Add" {
				return f.affine(n, image, nil, v)
			}
			return f.affine(n, image, v, nil)
		}
		own, added := f.values[n.out[0]].shape, f.values[other].shape
		if next.Op == "Add" && len(j.reads) == 0 && f.values[other].constant == nil && own != nil && len(own) > 0 &&
			slices.Equal(own, added) {
			j.reads = []int{other}
			return true
		}
	case next.isOp("Relu"):
		j.relu = true
		return true
	case next.isOp("Clip") && len(next.in) > 2:
		lo, ok := f.number(next, 1)
		hi, ok2 := f.number(next, 2)
		j.relu6 = ok && ok2 && lo == 0 && hi == 6
		return j.relu6
	case next.isOp("Gelu") || next.isOp("Swish") || next.isOp("HardSwish"):
		j.act = c.VectorFunction(next.Op)
		return j.act != nil
	}
	return false
}

// affine multiplies by scale and adds shift, nil for 1 and 0, behind what n does by now.
func (f *fuser) affine(n *node, image bool, scale, shift []float32) bool {
	j := &n.join
	ch := f.channels(n, image)
	if ch == 0 {
		return false
	}
	if j.shift == nil {
		j.shift = make([]float32, ch)
		if image && len(n.in) > 2 && n.in[2] >= 0 { // its own bias
			b := f.values[n.in[2]].constant
			if !b.IsFloat() || b.Len() != ch {
				j.shift = nil
				return false
			}
			copy(j.shift, b.Floats)
		}
		j.biased = true
	}
	if scale != nil {
		if j.scale == nil {
			j.scale = slices.Repeat([]float32{1}, ch)
		}
		for i, s := range scale {
			j.scale[i] *= s
			j.shift[i] *= s
		}
	}
	for i, s := range shift {
		j.shift[i] += s
	}
	return true
}
