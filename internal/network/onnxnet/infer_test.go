package onnxnet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/spatial"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// inferred is the shape that an operator makes of inputs of these shapes.
func inferred(n *node, shapes ...[]int) ([]int, error) {
	for _, s := range shapes {
		n.in = append(n.in, &value{shape: s})
	}
	out, err := (&graph{opset: 18}).infer(n)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// Products have the shapes of numpy's, and matrices that do not go together are refused.
func TestShapesOfProducts(t *testing.T) {
	for _, c := range []struct{ x, y, want []int }{
		{[]int{2, 3}, []int{3, 5}, []int{2, 5}}, {[]int{3}, []int{3, 5}, []int{5}}, {[]int{2, 3}, []int{3}, []int{2}},
		{[]int{3}, []int{3}, []int{}}, {[]int{4, 2, 3}, []int{3, 5}, []int{4, 2, 5}},
		{[]int{3}, []int{4, 3, 5}, []int{4, 5}}, {[]int{4, 2, 3}, []int{3}, []int{4, 2}},
		{[]int{7, 1, 2, 3}, []int{4, 3, 5}, []int{7, 4, 2, 5}},
		{[]int{2, 3}, []int{2, 3}, nil}, {[]int{3}, []int{2}, nil}, {[]int{}, []int{3}, nil}, {[]int{3}, []int{}, nil},
		{[]int{4, 2, 3}, []int{5, 3, 2}, nil},
	} {
		got, err := inferred(nodeOf("MatMul"), c.x, c.y)
		if (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%d times %d: %d, %v", c.x, c.y, got, err)
		}
	}
	for _, c := range []struct {
		x, y   []int
		ta, tb int
		want   []int
	}{
		{[]int{2, 3}, []int{3, 5}, 0, 0, []int{2, 5}}, {[]int{3, 2}, []int{3, 5}, 1, 0, []int{2, 5}},
		{[]int{2, 3}, []int{5, 3}, 0, 1, []int{2, 5}}, {[]int{3, 2}, []int{5, 3}, 1, 1, []int{2, 5}},
		{[]int{2, 3}, []int{5, 3}, 0, 0, nil}, {[]int{3}, []int{3, 5}, 0, 0, nil}, {[]int{2, 3}, []int{3}, 0, 0, nil},
		{[]int{1, 2, 3}, []int{3, 5}, 0, 0, nil}, {[]int{2, 3}, []int{1, 3, 5}, 0, 0, nil},
	} {
		n := nodeOf("Gemm", "transA", c.ta, "transB", c.tb)
		if got, err := inferred(n, c.x, c.y); (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("Gemm %d of %d and %d: %d, %v", []int{c.ta, c.tb}, c.x, c.y, got, err)
		}
	}
	if _, err := inferred(nodeOf("MatMul"), []int{2, 3}); err == nil {
		t.Error("a product of one")
	}
	if _, err := inferred(nodeOf("Gemm"), []int{2, 3}); err == nil {
		t.Error("Gemm of one")
	}
}

// A window has as many positions as fit into the input and its padding, by a loop; with ceil_mode
// one more where something is left that begins in the input or before it.
func TestPositionsOfWindows(t *testing.T) {
	for size := 1; size < 9; size++ {
		for kernel := 1; kernel < 5; kernel++ {
			for stride := 1; stride < 5; stride++ {
				for before := range min(3, kernel) {
					for after := range min(3, kernel) {
						windowFits(t, size, kernel, stride, before, after)
					}
				}
			}
		}
	}
}

func windowFits(t *testing.T, size, kernel, stride, before, after int) {
	t.Helper()
	floor, ceil, left := 0, 0, 0
	for at := -before; at+kernel <= size+after; at += stride {
		floor++
		left = size + after - at - kernel // behind the last position
	}
	if ceil = floor; left > 0 && floor*stride-before < size {
		ceil++
	}
	pads := []int64{0, int64(before), 0, int64(after)}
	attrs := []any{"kernel_shape", []int64{1, int64(kernel)}, "strides", []int64{int64(stride), int64(stride)},
		"pads", pads}
	for mode, want := range []int{floor, ceil} {
		got, err := inferred(nodeOf("MaxPool", append(attrs, "ceil_mode", mode)...), []int{1, 2, 1, size})
		name := fmt.Sprintf("%d by a window of %d, stride %d, pads %d and %d, ceil_mode %d", size, kernel, stride,
			before,
			after, mode)
		if floor == 0 {
			if err == nil || !strings.Contains(err.Error(), "larger than its input") {
				t.Errorf("%s: %d, %v", name, got, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, []int{1, 2, 1, want}) {
			t.Errorf("%s: %d, %v, want %d", name, got, err, want)
		}
	}
}

// windowOf is the window of a node.
func windowOf(n *node) (w *spatial.Window, err error) {
	defer operator.Catch(&err)
	return imageWindow((&graph{}).call(n), n), nil
}

// Padding by name keeps ceil(size/stride) positions, with the larger half at the end or at the
// start.
func TestPaddingByNameIsEven(t *testing.T) {
	for size := 1; size < 9; size++ {
		for kernel := 1; kernel < 5; kernel++ {
			for stride := 1; stride < 4; stride++ {
				for _, name := range []string{"SAME_UPPER", "SAME_LOWER", "VALID"} {
					n := nodeOf("MaxPool", "kernel_shape", []int64{1, int64(kernel)}, "strides",
						[]int64{int64(stride), int64(stride)}, "auto_pad", name, "pads", []int64{0, 5, 0, 5})
					n.in = []*value{{shape: []int{1, 1, 1, size}}}
					w, err := windowOf(n)
					if name == "VALID" {
						if fits := size >= kernel; fits != (err == nil) || fits && (w.Before[1] != 0 ||
							w.After[1] != 0 || w.Out[1] != (size-kernel)/stride+1) {
							t.Errorf("VALID of %d by %d, stride %d: %+v, %v", size, kernel, stride, w, err)
						}
						continue
					}
					before, after := w.Before[1], w.After[1]
					if name == "SAME_LOWER" {
						before, after = after, before
					}
					want := (size + stride - 1) / stride
					least := max(0, (want-1)*stride+kernel-size)
					if err != nil || w.Out[1] != want || before+after != least || after-before < 0 || after-before > 1 {
						t.Errorf("%s of %d by %d, stride %d: %+v, %v", name, size, kernel, stride, w, err)
					}
				}
			}
		}
	}
}

// The geometry of a window at the ends of what is read.
func TestBoundsOfWindows(t *testing.T) {
	const most = 1 << 20
	two := func(v int64) []int64 { return []int64{v, v} }
	four := func(v int64) []int64 { return []int64{0, 0, 0, v} }
	image := []int{1, 1, most, most}
	for _, c := range []struct {
		attrs []any
		want  string // "" for none
	}{
		{[]any{"kernel_shape", two(1)}, ""}, {[]any{"kernel_shape", two(1 << 10)}, ""},
		{[]any{"kernel_shape", two(most)}, "too large"},
		{[]any{"kernel_shape", two(0)}, "each must be in 1..1048576"},
		{[]any{"kernel_shape", two(most + 1)}, "each must be in 1..1048576"},
		{[]any{"kernel_shape", two(1), "strides", two(most)}, ""},
		{[]any{"kernel_shape", two(1), "strides", two(0)}, "each must be in 1..1048576"},
		{[]any{"kernel_shape", two(1), "strides", two(most + 1)}, "each must be in 1..1048576"},
		{[]any{"kernel_shape", two(1), "strides", []int64{1, 2}}, "the same along both axes"},
		{[]any{"kernel_shape", two(1), "strides", []int64{1}}, "the input has 2 axes"},
		{[]any{"kernel_shape", []int64{1}}, "the input has 2 axes"}, {nil, "no kernel_shape"},
		{[]any{"kernel_shape", two(1), "pads", four(most)}, ""},
		{[]any{"kernel_shape", two(1), "pads", four(most + 1)}, "each must be in -1048576..1048576"},
		{[]any{"kernel_shape", two(1), "pads", four(-1)}, "take nothing away"},
		{[]any{"kernel_shape", two(1), "pads", two(1)}, "two pads for each axis"},
		{[]any{"kernel_shape", two(1), "dilations", two(1)}, ""},
		{[]any{"kernel_shape", two(1), "dilations", []int64{1, 2}}, "networks here have none"},
		{[]any{"kernel_shape", two(1), "dilations", []int64{1}}, "the input has 2 axes"},
		{[]any{"kernel_shape", two(1), "auto_pad", "SOME"}, `auto_pad "SOME" is not known`},
	} {
		_, err := inferred(nodeOf("MaxPool", c.attrs...), image)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.attrs, err, c.want)
		}
	}
	for _, c := range []struct {
		op     string
		shapes [][]int
		want   []int // nil for an error
	}{
		{"Conv", [][]int{{1, 3, 8, 9}, {5, 3, 3, 2}}, []int{1, 5, 6, 8}}, {"Conv", [][]int{{1, 3, 8, 9}}, nil},
		{"Conv", [][]int{{1, 3, 8}, {5, 3, 3, 2}}, nil}, {"Conv", [][]int{{1, 3, 8, 9}, {5, 3, 3}}, nil},
		{"MaxPool", [][]int{{1, 3, 8}}, nil},
		{"GlobalAveragePool", [][]int{{2, 3, 8, 9}}, []int{2, 3, 1, 1}},
		{"GlobalMaxPool", [][]int{{2, 3, 8}}, []int{2, 3, 1}},
		{"GlobalMaxPool", [][]int{{2, 3}}, nil}, {"Softmax", [][]int{{2, 3}}, []int{2, 3}},
		{"Add", [][]int{{2, 1}, {1, 3}}, []int{2, 3}}, {"Add", [][]int{{2}, {3}}, nil},
	} {
		got, err := inferred(nodeOf(c.op), c.shapes...)
		if (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s of %d: %d, %v, want %d", c.op, c.shapes, got, err, c.want)
		}
	}
	if _, err := inferred(nodeOf("Nothing"), []int{1}); !errors.Is(err, errNoOperator) {
		t.Errorf("an operator that is none: %v", err)
	}
}

// A Pad adds zeros where its pads say, along all axes or those that it names.
func TestShapesOfPads(t *testing.T) {
	for _, c := range []struct {
		pads, axes []int64
		attrs      []any
		fill       *tensor.Tensor
		want       []int
		said       string
	}{
		{pads: []int64{1, 2, 3, 4}, want: []int{2 + 1 + 3, 3 + 2 + 4}},
		{pads: []int64{1, 3}, axes: []int64{-1}, want: []int{2, 3 + 1 + 3}},
		{pads: []int64{1, 2, 3, 4}, axes: []int64{1, 0}, want: []int{2 + 2 + 4, 3 + 1 + 3}},
		{pads: []int64{1 << 20, 0, 0, 0}, want: []int{2 + 1<<20, 3}},
		{pads: []int64{1<<20 + 1, 0, 0, 0}, said: "take nothing away"},
		{pads: []int64{0, 0, 0, 1<<20 + 1}, said: "take nothing away"},
		{pads: []int64{-1, 0, 0, 0}, said: "take nothing away"},
		{pads: []int64{0, 0, 0, -1}, said: "take nothing away"},
		{pads: []int64{1, 2}, said: "has 2 axes"}, {pads: []int64{1, 2}, axes: []int64{2}, said: "axis"},
		{pads: []int64{0, 0, 0, 0}, fill: reals(0), want: []int{2, 3}},
		{pads: []int64{0, 0, 0, 0}, fill: reals(1), said: "padded with zeros"},
		{pads: []int64{0, 0, 0, 0}, attrs: []any{"mode", "edge"}, said: "padded with zeros"},
		{pads: []int64{0, 0, 0, 0}, attrs: []any{"mode", "constant"}, want: []int{2, 3}},
		{said: "its pads are not given"},
	} {
		n := nodeOf("Pad", c.attrs...)
		n.in = []*value{{shape: []int{2, 3}}, nil, nil, nil}
		if c.pads != nil {
			n.in[1] = &value{shape: []int{len(c.pads)}, known: vector(c.pads)}
		}
		if c.fill != nil {
			n.in[2] = &value{shape: c.fill.Shape, known: c.fill}
		}
		if c.axes != nil {
			n.in[3] = &value{shape: []int{len(c.axes)}, known: vector(c.axes)}
		}
		out, err := (&graph{opset: 18}).infer(n)
		if (err == nil) != (c.said == "") || err != nil && !strings.Contains(err.Error(), c.said) ||
			err == nil && !slices.Equal(out[0], c.want) {
			t.Errorf("%+v: %d, %v", c, out, err)
		}
	}
}

// What may be an epsilon is a single small number above 0, and 0 itself is tried last.
func TestSmallNumbers(t *testing.T) {
	known := func(v *tensor.Tensor) *value { return &value{known: v} }
	nodes := []*node{{in: []*value{known(reals(1e-5)), nil, known(reals(0.1)), known(reals(0.0999)), {}}},
		{in: []*value{known(reals(-1e-5)), known(reals(0)), known(reals(1e-3, 1e-3)), known(vector([]int64{0})),
			known(reals(1e-12)), known(reals(5))}}}
	if got := smallNumbers(nodes); !slices.Equal(got, []float32{1e-5, 0.0999, 1e-12, 0}) {
		t.Errorf("%g", got)
	}
}
