package onnxnet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

func dataType(v int64) onnx.DataType { return onnx.DataType(min(max(v, 0), 99)) }

// isReduction tells operators that compute one value from those along some axes.
func isReduction(op string) bool { return strings.HasPrefix(op, "Reduce") && reduction(op) != nil }

// computable tells operators that compute knows.
func computable(op string) bool {
	switch op {
	case "Constant", "ConstantOfShape", "Shape", "Size", "Concat", "Range":
		return true
	}
	return isElementwise(op) || isMovement(op) || isReduction(op)
}

// compute applies an operator to inputs that are known; those left out are nil.
func (g *graph) compute(n *node, in []*array) ([]*array, error) {
	a := attrs{node: n.Node}
	one := func(x *array, err error) ([]*array, error) { return []*array{x}, errors.Join(err, a.err) }
	if n.Op != "Constant" && n.Op != "Range" && (len(in) == 0 || in[0] == nil) {
		return nil, errors.New("it has no input")
	}
	switch {
	case n.Op == "Constant":
		return one(constant(&a))
	case n.Op == "ConstantOfShape":
		return one(filled(&a, in[0]))
	case n.Op == "Shape":
		return one(shapeOf(&a, in[0].shape))
	case n.Op == "Size":
		return one(&array{shape: []int{}, ints: []int64{int64(in[0].len())}}, nil)
	case n.Op == "Range":
		return one(between(in))
	case n.Op == "Concat":
		return one(joined(&a, in))
	case isMovement(n.Op):
		parts, err := g.move(n, in[0].shape, in)
		if err != nil {
			return nil, err
		}
		var out []*array
		for _, p := range parts {
			out = append(out, in[0].take(p.shape, p.from))
		}
		return out, a.err
	case isElementwise(n.Op):
		return one(elementwise(n, in))
	case isReduction(n.Op):
		return one(g.reduced(n, in))
	}
	return nil, fmt.Errorf("%s is not computed on constants", n.Op)
}

func constant(a *attrs) (*array, error) {
	for _, name := range []string{"value", "value_float", "value_floats", "value_int", "value_ints"} {
		x := a.node.Attr(name)
		if x == nil {
			continue
		}
		switch x.Type {
		case onnx.AttrTensor:
			return fromTensor(x.Tensor)
		case onnx.AttrFloat:
			return scalar(x.Float), nil
		case onnx.AttrInt:
			return &array{shape: []int{}, ints: []int64{x.Int}}, nil
		case onnx.AttrFloats:
			return &array{shape: []int{len(x.Floats)}, reals: append([]float32{}, x.Floats...)}, nil
		case onnx.AttrInts:
			return vector(append([]int64{}, x.Ints...)), nil
		}
	}
	return nil, errors.New("it holds no numbers")
}

func filled(a *attrs, shape *array) (*array, error) {
	if shape.isReal() {
		return nil, errors.New("its shape holds no integers")
	}
	out := &array{}
	for _, d := range shape.ints {
		if d < 0 || d > math.MaxInt32 {
			return nil, fmt.Errorf("shape %d is impossible", shape.ints)
		}
		out.shape = append(out.shape, int(d))
	}
	n, err := count(out.shape)
	if err != nil {
		return nil, err
	}
	value := scalar(0)
	if x := a.find("value", onnx.AttrTensor); x != nil {
		if value, err = fromTensor(x.Tensor); err != nil {
			return nil, err
		}
		if value.len() != 1 {
			return nil, errors.New("its value is no single number")
		}
	}
	return value.take(out.shape, make([]int, n)), nil
}

func shapeOf(a *attrs, shape []int) (*array, error) {
	bound := func(v int64) int64 {
		if v < 0 {
			v += int64(len(shape))
		}
		return min(max(v, 0), int64(len(shape)))
	}
	from, to := bound(a.int("start", 0)), bound(a.int("end", int64(len(shape))))
	out := []int64{}
	for i := from; i < to; i++ {
		out = append(out, int64(shape[i]))
	}
	return vector(out), nil
}

// mostRange is how many numbers a Range may make.
const mostRange = 1 << 20

func between(in []*array) (*array, error) {
	if len(in) != 3 {
		return nil, errors.New("it needs a start, an end and a step")
	}
	for _, x := range in {
		switch {
		case x == nil || x.len() != 1:
			return nil, errors.New("it needs a start, an end and a step")
		case x.isReal():
			return nil, errors.New("a range of floating-point numbers is not computed")
		}
	}
	from, to, step := in[0].ints[0], in[1].ints[0], in[2].ints[0]
	n := uint64(0) // differences of int64 fit into no less
	switch {
	case step > 0 && from < to:
		n = (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		n = (uint64(from)-uint64(to)-1)/-uint64(step) + 1
	}
	if step == 0 || n > mostRange {
		return nil, fmt.Errorf("a range from %d to %d in steps of %d", from, to, step)
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = from + int64(i)*step
	}
	return vector(out), nil
}

// joinedShape is the shape of a Concat's output.
func joinedShape(a *attrs, shapes [][]int) (shape []int, axis int, err error) {
	if len(shapes) == 0 {
		return nil, 0, errors.New("it has no input")
	}
	shape = slices.Clone(shapes[0])
	if axis, err = axisOf(a.int("axis", 0), len(shape)); err != nil {
		return nil, 0, err
	}
	for _, s := range shapes[1:] {
		if len(s) != len(shape) {
			return nil, 0, fmt.Errorf("shapes %d and %d are joined", shape, s)
		}
		for i := range s {
			if i != axis && s[i] != shape[i] {
				return nil, 0, fmt.Errorf("shapes %d and %d are joined along axis %d", shape, s, axis)
			}
		}
		shape[axis] += s[axis]
	}
	_, err = count(shape)
	return shape, axis, err
}

func joined(a *attrs, in []*array) (*array, error) {
	var shapes [][]int
	real := false
	for _, x := range in {
		if x == nil {
			return nil, errors.New("an input of it is left out")
		}
		shapes = append(shapes, x.shape)
		real = real || x.isReal()
	}
	shape, axis, err := joinedShape(a, shapes)
	if err != nil {
		return nil, err
	}
	out := &array{shape: shape}
	for o := range product(shape[:axis]) {
		for _, x := range in {
			n := product(x.shape[axis:])
			if real != x.isReal() && x.len() > 0 {
				return nil, errors.New("integers and floating-point numbers are joined")
			}
			if real {
				out.reals = append(out.reals, x.reals[o*n:(o+1)*n]...)
			} else {
				out.ints = append(out.ints, x.ints[o*n:(o+1)*n]...)
			}
		}
	}
	return out, nil
}

// reduction returns the function that adds a value and the one that ends, given
// the number of values.
func reduction(op string) func(values []float64) float64 {
	sum := func(values []float64, f func(float64) float64) float64 {
		var s float64
		for _, v := range values {
			s += f(v)
		}
		return s
	}
	same := func(v float64) float64 { return v }
	square := func(v float64) float64 { return v * v }
	switch op {
	case "ReduceSum":
		return func(v []float64) float64 { return sum(v, same) }
	case "ReduceMean":
		return func(v []float64) float64 { return sum(v, same) / float64(len(v)) }
	case "ReduceSumSquare":
		return func(v []float64) float64 { return sum(v, square) }
	case "ReduceL1":
		return func(v []float64) float64 { return sum(v, math.Abs) }
	case "ReduceL2":
		return func(v []float64) float64 { return math.Sqrt(sum(v, square)) }
	case "ReduceProd":
		return func(v []float64) float64 {
			p := 1.0
			for _, x := range v {
				p *= x
			}
			return p
		}
	case "ReduceMax", "ReduceMin":
		return func(v []float64) float64 {
			if len(v) == 0 {
				return 0
			}
			if op == "ReduceMax" {
				return slices.Max(v)
			}
			return slices.Min(v)
		}
	}
	return nil
}

// reduceAxes returns the axes that a reduction goes over and what is left.
func (g *graph) reduceAxes(n *node, shape []int, in []*array) (axes, to []int, err error) {
	a := attrs{node: n.Node}
	want, ok, err := numbers(n, in, 1, "axes")
	if err != nil {
		return nil, nil, err
	}
	if axes, err = axesOf(want, len(shape)); err != nil {
		return nil, nil, err
	}
	if (!ok || len(axes) == 0) && a.int("noop_with_empty_axes", 0) == 0 {
		axes = nil
		for i := range shape {
			axes = append(axes, i)
		}
	}
	to = []int{}
	for i, d := range shape {
		switch {
		case !slices.Contains(axes, i):
			to = append(to, d)
		case a.int("keepdims", 1) != 0:
			to = append(to, 1)
		}
	}
	return axes, to, a.err
}

func (g *graph) reduced(n *node, in []*array) (*array, error) {
	x := in[0]
	axes, to, err := g.reduceAxes(n, x.shape, in)
	if err != nil {
		return nil, err
	}
	// The offsets of the values that are kept, and of those that go into each.
	own := strides(x.shape)
	kept, over := slices.Clone(x.shape), make([]int, len(x.shape))
	for i := range over {
		over[i] = 1
	}
	for _, i := range axes {
		kept[i], over[i] = 1, x.shape[i]
	}
	starts, err := walk(kept, own, 0)
	if err != nil {
		return nil, err
	}
	steps, err := walk(over, own, 0)
	if err != nil {
		return nil, err
	}
	f := reduction(n.Op)
	out := &array{shape: to}
	values := make([]float64, len(steps))
	for _, s := range starts {
		for i, d := range steps {
			values[i] = x.at(s + d)
		}
		if x.isReal() {
			out.reals = append(out.reals, float32(f(values)))
		} else {
			out.ints = append(out.ints, int64(f(values)))
		}
	}
	return out, nil
}
