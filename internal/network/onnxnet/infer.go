package onnxnet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/spatial"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// infer determines the shapes of what a node makes of inputs that are computed from the image, by the rules of
// the operators as they run.
func (g *graph) infer(n *node) (list [][]int, err error) {
	defer operator.Catch(&err)
	var shapes [][]int // of the inputs that are there
	for _, v := range n.in {
		if v != nil {
			shapes = append(shapes, v.shape)
		}
	}
	if len(shapes) == 0 || n.in[0] == nil {
		return nil, errors.New("it has no input")
	}
	x, c := n.in[0].shape, g.call(n)
	one := func(shape []int, err error) ([][]int, error) { return [][]int{shape}, err }
	switch {
	case isMovement(n.Op):
		return g.inferMoved(n, c)
	case n.Op == "Concat":
		return one(joinedShape(c, shapes))
	case isElementwise(n.Op):
		return one(tensor.Broadcast(shapes...))
	case isReduction(n.Op):
		operator.Check(n.requireConstants())
		_, to := c.ReduceAxes(x)
		return one(to, nil)
	}
	switch n.Op {
	case "Softmax", "LogSoftmax", "LayerNormalization", "SkipLayerNormalization", "BatchNormalization",
		"InstanceNormalization", "GroupNormalization", "RMSNormalization", "LpNormalization", "LRN":
		return one(x, nil) // their other outputs are not followed
	case "Conv":
		if !n.hasInput(1) || len(n.in[1].shape) != 4 || len(x) != 4 {
			return nil, errors.New("only convolutions of images by filters of four sides are read")
		}
		w := imageWindow(c, n)
		return one([]int{x[0], n.in[1].shape[0], w.Out[0], w.Out[1]}, nil)
	case "MaxPool", "AveragePool", "LpPool":
		if len(x) != 4 {
			return nil, errors.New("only pools of images are read")
		}
		w := imageWindow(c, n)
		return one([]int{x[0], x[1], w.Out[0], w.Out[1]}, nil)
	case "GlobalAveragePool", "GlobalMaxPool":
		if len(x) < 3 {
			return nil, fmt.Errorf("its input is %d, no image", x)
		}
		return one(slices.Concat(x[:2], slices.Repeat([]int{1}, len(x)-2)), nil)
	case "Gemm":
		if len(shapes) < 2 || len(shapes[0]) != 2 || len(shapes[1]) != 2 {
			return nil, errors.New("it needs two matrices")
		}
		shape, _, err := tensor.MatMulShape(tensor.TransposedShape(shapes[0], c.Int("transA", 0) != 0),
			tensor.TransposedShape(shapes[1], c.Int("transB", 0) != 0))
		return one(shape, err)
	case "MatMul":
		if len(shapes) != 2 {
			return nil, errors.New("it needs two inputs")
		}
		shape, _, err := tensor.MatMulShape(shapes[0], shapes[1])
		return one(shape, err)
	case "Pad":
		before, after := zeroPads(c, n)
		shape := slices.Clone(x)
		for i := range shape {
			shape[i] += before[i] + after[i]
		}
		_, err := tensor.Length(shape)
		return one(shape, err)
	}
	return nil, errNoOperator
}

// errNoOperator is what infer and lift say of operators that are not known.
var errNoOperator = errors.New("this operator is not one that networks here have")

// requireConstants reports an input after the first that is computed from the image: what the node does then
// depends on more than shapes.
func (n *node) requireConstants() error {
	for i, v := range n.in {
		if i > 0 && v != nil && v.known == nil {
			return fmt.Errorf("its input %q is computed from the image", v.name)
		}
	}
	return nil
}

// inferMoved is infer for movements, which are computed on zeros.
func (g *graph) inferMoved(n *node, c *operator.Call) ([][]int, error) {
	if err := n.requireConstants(); err != nil {
		return nil, err
	}
	have, err := countOffsets(n.in[0].shape)
	if err != nil {
		return nil, err
	}
	c.In[0] = tensor.Floats(n.in[0].shape, make([]float32, have))
	made, err := g.compute(n, c.In)
	if err != nil {
		return nil, err
	}
	var shapes [][]int
	for _, x := range made {
		shapes = append(shapes, x.Shape)
	}
	return shapes, nil
}

// joinedShape is the shape of a Concat's output.
func joinedShape(c *operator.Call, shapes [][]int) ([]int, error) {
	shape := slices.Clone(shapes[0])
	axis := c.Axis("axis", 0, len(shape))
	for _, s := range shapes[1:] {
		if err := tensor.Lengthen(shape, s, axis); err != nil {
			return nil, err
		}
	}
	_, err := tensor.Length(shape)
	return shape, err
}

// imageWindow reads the window of a convolution or pool of an image, which must be as layers here have it: with one
// stride along both axes, without gaps, and with padding that adds.
func imageWindow(c *operator.Call, n *node) *spatial.Window {
	var kernel []int
	if n.Op == "Conv" && c.List("kernel_shape") == nil {
		kernel = n.in[1].shape[2:]
	}
	w := spatial.NewWindow(c, n.in[0].shape[2:], kernel)
	switch {
	case !w.IsDense():
		operator.Fail("dilations %d: networks here have none", w.Dilation)
	case w.Stride[0] != w.Stride[1]:
		operator.Fail("strides %d: networks here have the same along both axes", w.Stride)
	case min(w.Before[0], w.Before[1], w.After[0], w.After[1]) < 0:
		operator.Fail("pads %d and %d: networks here take nothing away", w.Before, w.After)
	}
	return w
}

// uncovered is what ceil_mode adds at the end of an axis: as much of the last window as lies behind the padding.
func uncovered(w *spatial.Window, axis int) int {
	reach := (w.Out[axis]-1)*w.Stride[axis] + w.Kernel[axis]
	return max(0, reach-w.In[axis]-w.Before[axis]-w.After[axis])
}

// zeroPads returns what a Pad adds at the start and end of each axis; it fails unless it adds zeros.
func zeroPads(c *operator.Call, n *node) (before, after []int) {
	operator.Check(n.requireConstants())
	before, after, value := c.Pads(len(n.in[0].shape))
	if slices.ContainsFunc(slices.Concat(before, after), func(p int) bool { return p < 0 || p > operator.MaxSide }) {
		operator.Fail("pads %d and %d: networks here add zeros and take nothing away", before, after)
	}
	if mode := c.Text("mode", "constant"); mode != "constant" || value != 0 {
		operator.Fail("mode %s with %g: networks here are padded with zeros", mode, value)
	}
	return before, after
}
