package onnxnet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// infer determines the shapes of what a node makes of inputs that are computed
// from the image.
func (g *graph) infer(n *node) ([][]int, error) {
	in := make([]*array, len(n.in))
	var shapes [][]int // of the inputs that are there
	for i, v := range n.in {
		if v != nil {
			in[i] = v.known
			shapes = append(shapes, v.shape)
		}
	}
	if len(shapes) == 0 || n.in[0] == nil {
		return nil, errors.New("it has no input")
	}
	x := n.in[0].shape
	a := attrs{node: n.Node}
	one := func(shape []int, err error) ([][]int, error) { return [][]int{shape}, errors.Join(err, a.err) }
	switch {
	case isMovement(n.Op):
		return g.inferMoved(n, in)
	case n.Op == "Concat":
		shape, _, err := joinedShape(&a, shapes)
		return one(shape, err)
	case isElementwise(n.Op):
		return one(tensor.Broadcast(shapes...))
	case isReduction(n.Op):
		_, to, err := g.reduceAxes(n, x, in)
		return one(to, err)
	}
	switch n.Op {
	case "Softmax", "LogSoftmax", "LayerNormalization", "SkipLayerNormalization", "BatchNormalization",
		"InstanceNormalization", "GroupNormalization", "RMSNormalization", "LpNormalization", "LRN":
		return one(x, nil) // their other outputs are not followed
	case "Conv":
		if len(n.in) < 2 || n.in[1] == nil || len(n.in[1].shape) != 4 || len(x) != 4 {
			return nil, errors.New("only convolutions of images by filters of four sides are read")
		}
		w, err := g.window(n)
		if err != nil {
			return nil, err
		}
		return one([]int{x[0], n.in[1].shape[0], w.h, w.w}, nil)
	case "MaxPool", "AveragePool", "LpPool":
		if len(x) != 4 {
			return nil, errors.New("only pools of images are read")
		}
		w, err := g.window(n)
		if err != nil {
			return nil, err
		}
		return one([]int{x[0], x[1], w.h, w.w}, nil)
	case "GlobalAveragePool", "GlobalMaxPool":
		if len(x) < 3 {
			return nil, fmt.Errorf("its input is %d, no image", x)
		}
		shape := slices.Clone(x)
		for i := range shape[2:] {
			shape[2+i] = 1
		}
		return one(shape, nil)
	case "Gemm":
		return one(gemmShape(&a, shapes))
	case "MatMul":
		if len(shapes) != 2 {
			return nil, errors.New("it needs two inputs")
		}
		shape, _, err := tensor.MatMulShape(shapes[0], shapes[1])
		if err == nil {
			_, err = count(shape)
		}
		return one(shape, err)
	case "Pad":
		return one(g.padded(n, in))
	}
	return nil, errNoOperator
}

// errNoOperator is what infer and lift say of operators that are not known.
var errNoOperator = errors.New("this operator is not one that networks here have")

// inferMoved is infer for movements, which are computed on zeros.
func (g *graph) inferMoved(n *node, in []*array) ([][]int, error) {
	for i, v := range n.in {
		if i > 0 && v != nil && v.known == nil {
			return nil, fmt.Errorf("its input %q is computed from the image", v.name)
		}
	}
	have, err := count(n.in[0].shape)
	if err != nil {
		return nil, err
	}
	zeros := &array{shape: n.in[0].shape, reals: make([]float32, have)}
	made, err := g.compute(n, append([]*array{zeros}, in[1:]...))
	if err != nil {
		return nil, err
	}
	var shapes [][]int
	for _, x := range made {
		shapes = append(shapes, x.shape)
	}
	return shapes, nil
}

func gemmShape(a *attrs, shapes [][]int) ([]int, error) {
	if len(shapes) < 2 || len(shapes[0]) != 2 || len(shapes[1]) != 2 {
		return nil, errors.New("it needs two matrices")
	}
	m, k := shapes[0][0], shapes[0][1]
	if a.int("transA", 0) != 0 {
		m, k = k, m
	}
	k2, n := shapes[1][0], shapes[1][1]
	if a.int("transB", 0) != 0 {
		k2, n = n, k2
	}
	if k != k2 {
		return nil, fmt.Errorf("matrices of %d and %d cannot be multiplied", shapes[0], shapes[1])
	}
	return []int{m, n}, nil
}

// window is what a convolution or pool does along both axes, with one stride.
type window struct {
	kernel [2]int // height, width
	stride int
	pad    [4]int // top, left, bottom, right
	h, w   int    // positions
	ceil   [2]int // what ceil_mode adds at the end
}

// square reports whether kernel and padding are the same along both axes.
func (w *window) square() bool { return w.kernel[0] == w.kernel[1] }

// window reads a node's geometry, with padding by name resolved for the size of
// its input.
func (g *graph) window(n *node) (w window, err error) {
	a := attrs{node: n.Node}
	x := n.in[0].shape
	kernel := a.ints("kernel_shape")
	if kernel == nil && n.Op == "Conv" {
		kernel = []int64{int64(n.in[1].shape[2]), int64(n.in[1].shape[3])}
	}
	strides, dilations, pads := a.ints("strides"), a.ints("dilations"), a.ints("pads")
	if strides == nil {
		strides = []int64{1, 1}
	}
	if pads == nil {
		pads = []int64{0, 0, 0, 0}
	}
	ceil := a.int("ceil_mode", 0) != 0
	auto := a.text("auto_pad", "NOTSET")
	if a.err != nil {
		return w, a.err
	}
	const most = 1 << 20
	if len(kernel) != 2 || len(strides) != 2 || len(pads) != 4 || len(dilations) != 0 && len(dilations) != 2 {
		return w, errors.New("its kernel_shape, strides, pads and dilations are not those of an image")
	}
	for _, v := range slices.Concat(kernel, strides) {
		if v < 1 || v > most {
			return w, fmt.Errorf("kernel_shape %d and strides %d: each must be in 1..%d", kernel, strides, most)
		}
	}
	for _, v := range pads {
		if v < 0 || v > most {
			return w, fmt.Errorf("pads %d: each must be in 0..%d", pads, most)
		}
	}
	for _, d := range dilations {
		if d != 1 {
			return w, fmt.Errorf("dilations %d: networks here have none", dilations)
		}
	}
	if strides[0] != strides[1] {
		return w, fmt.Errorf("strides %d: networks here have the same along both axes", strides)
	}
	w.kernel, w.stride = [2]int{int(kernel[0]), int(kernel[1])}, int(strides[0])
	for i, v := range pads {
		w.pad[i] = int(v)
	}
	out := []*int{&w.h, &w.w}
	for i := range 2 {
		size := x[2+i]
		switch auto {
		case "NOTSET", "":
		case "VALID":
			w.pad[i], w.pad[2+i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(0, ((size+w.stride-1)/w.stride-1)*w.stride+w.kernel[i]-size)
			w.pad[i], w.pad[2+i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.pad[i], w.pad[2+i] = w.pad[2+i], w.pad[i]
			}
		default:
			return w, fmt.Errorf("auto_pad %q is not known", auto)
		}
		room := size + w.pad[i] + w.pad[2+i] - w.kernel[i]
		if room < 0 {
			return w, fmt.Errorf("its kernel of %d is larger than its input of %d", w.kernel[i], x)
		}
		*out[i] = room/w.stride + 1
		if ceil && room%w.stride != 0 && *out[i]*w.stride < size+w.pad[i] {
			w.ceil[i] = w.stride - room%w.stride
			*out[i]++
		}
	}
	return w, nil
}

// pads returns what a Pad adds at the start and end of each axis; it is an error
// unless it adds zeros.
func (g *graph) pads(n *node, in []*array) (before, after []int, err error) {
	a := attrs{node: n.Node}
	rank := len(n.in[0].shape)
	before, after = make([]int, rank), make([]int, rank)
	want, ok, err := numbers(n, in, 1, "pads")
	if err != nil || !ok {
		return nil, nil, errors.Join(err, errors.New("its pads are not known"))
	}
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	if list, ok, err := numbers(n, in, 3, ""); err != nil {
		return nil, nil, err
	} else if ok {
		axes = nil
		for _, v := range list {
			i, err := tensor.AxisOf(v, rank)
			if err != nil {
				return nil, nil, err
			}
			axes = append(axes, i)
		}
	}
	if len(want) != 2*len(axes) {
		return nil, nil, fmt.Errorf("pads %d for %d axes", want, len(axes))
	}
	for i, axis := range axes {
		p, q := want[i], want[len(axes)+i]
		if p < 0 || q < 0 || p > 1<<20 || q > 1<<20 {
			return nil, nil, fmt.Errorf("pads %d: networks here add zeros and take nothing away", want)
		}
		before[axis], after[axis] = int(p), int(q)
	}
	value := float64(a.float("value", 0))
	if len(in) > 2 && in[2] != nil && in[2].len() == 1 {
		value = in[2].value(0)
	}
	if mode := a.text("mode", "constant"); mode != "constant" || value != 0 {
		return nil, nil, fmt.Errorf("mode %s with %g: networks here are padded with zeros", mode, value)
	}
	return before, after, a.err
}

func (g *graph) padded(n *node, in []*array) ([]int, error) {
	before, after, err := g.pads(n, in)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(n.in[0].shape)
	for i := range shape {
		shape[i] += before[i] + after[i]
	}
	_, err = count(shape)
	return shape, err
}
