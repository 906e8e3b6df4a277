package onnxnet

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// block has the values 0, 1, 2, ... in a shape.
func block(shape ...int) *tensor.Tensor {
	a := tensor.Integers(shape, make([]int64, tensor.Size(shape)))
	for i := range a.Ints {
		a.Ints[i] = int64(i)
	}
	return a
}

func shaped(shape []int, values ...int64) *tensor.Tensor {
	return tensor.Integers(shape, append([]int64{}, values...))
}

// What operators that move values make of 0, 1, 2, ..., by their definitions in ONNX.
func TestMovements(t *testing.T) {
	x := block(2, 3)
	at := func(v ...int64) *tensor.Tensor { return vector(v) }
	check(t, nodeOf("Reshape"), block(3, 2), x, at(3, 2))
	check(t, nodeOf("Reshape"), block(3, 2), x, at(-1, 2))
	check(t, nodeOf("Reshape"), block(2, 3, 1), x, at(0, 0, -1)) // 0 keeps a side
	refuse(t, nodeOf("Reshape"), "do not fill", x, at(4, -1))
	refuse(t, nodeOf("Reshape"), "do not fill", x, at(7))
	refuse(t, nodeOf("Reshape"), "is not valid", x, at(-1, -1))
	refuse(t, nodeOf("Reshape"), "is not valid", x, at(-2, -3))
	for axis, want := range map[int][]int{0: {1, 6}, 1: {2, 3}, 2: {6, 1}, -1: {2, 3}, -2: {1, 6}} {
		check(t, nodeOf("Flatten", "axis", axis), block(want...), x)
	}
	refuse(t, nodeOf("Flatten", "axis", 3), "axis 3 does not exist: the tensor has 2 axes", x)
	refuse(t, nodeOf("Flatten", "axis", -3), "axis -1 does not exist: the tensor has 2 axes", x)
	check(t, nodeOf("Unsqueeze"), block(1, 2, 1, 3, 1), x, at(0, 2, -1))
	check(t, nodeOf("Squeeze"), block(2, 3), block(1, 2, 1, 3), at(0, 2))
	check(t, nodeOf("Squeeze"), block(1, 2, 3), block(1, 2, 1, 3), at(-2))
	check(t, nodeOf("Squeeze"), block(2, 3), block(1, 2, 1, 3))
	refuse(t, nodeOf("Squeeze"), "side 1 of shape [1 2] is not 1", block(1, 2), at(1))
	refuse(t, nodeOf("Squeeze"), "one axis twice", block(1, 2), at(0, -2))
	check(t, nodeOf("Transpose"), shaped([]int{3, 2}, 0, 3, 1, 4, 2, 5), x)
	check(t, nodeOf("Transpose", "perm", []int64{1, 2, 0}), shaped([]int{2, 2, 2}, 0, 4, 1, 5, 2, 6, 3, 7),
		block(2, 2, 2))
	for _, bad := range [][]int64{{0}, {0, 0}, {0, 2}, {-1, 0}} {
		refuse(t, nodeOf("Transpose", "perm", bad), fmt.Sprintf("perm %d", bad), x)
	}
	check(t, nodeOf("Gather"), shaped([]int{3, 3}, 3, 4, 5, 0, 1, 2, 3, 4, 5), x, at(1, 0, -1))
	check(t, nodeOf("Gather", "axis", 1), shaped([]int{2, 2}, 2, 0, 5, 3), x, at(2, 0))
	check(t, nodeOf("Gather", "axis", -1), shaped([]int{2}, 1, 4), x, shaped([]int{}, 1))
	refuse(t, nodeOf("Gather"), "index 2 lies outside an axis of 2", x, at(2))
	refuse(t, nodeOf("Gather"), "index -1 lies outside an axis of 2", x, at(-3))
	refuse(t, nodeOf("Gather"), "not given as integers", x, reals(1))
	check(t, nodeOf("Expand"), shaped([]int{2, 2}, 0, 0, 1, 1), block(2, 1), at(1, 2))
	check(t, nodeOf("Expand"), shaped([]int{2, 2}, 0, 1, 0, 1), block(2), at(2, 1))
	refuse(t, nodeOf("Expand"), "do not broadcast", block(2), at(3))
	refuse(t, nodeOf("Expand"), "is not valid", block(2), at(-1))
	check(t, nodeOf("Tile"), shaped([]int{2, 6}, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5), x, at(1, 2))
	check(t, nodeOf("Tile"), shaped([]int{4, 3}, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5), x, at(2, 1))
	check(t, nodeOf("Tile"), shaped([]int{0, 3}), x, at(0, 1))
	refuse(t, nodeOf("Tile"), "repeats [2] do not fit shape [2 3]", x, at(2))
	refuse(t, nodeOf("Tile"), "repeats", x, at(math.MaxInt32, 1))
	refuse(t, nodeOf("Tile"), "repeats are missing", x)
}

// Slices are numpy's: bounds count from the end and are cut to what there is, and steps may
// go back.
func TestSlices(t *testing.T) {
	x := block(6)
	for _, c := range []struct {
		start, end, step int64
		want             []int64
	}{
		{1, 4, 1, []int64{1, 2, 3}}, {-4, -1, 1, []int64{2, 3, 4}}, {2, math.MaxInt64, 1, []int64{2, 3, 4, 5}},
		{-99, 2, 1, []int64{0, 1}}, {4, 2, 1, nil}, {9, 12, 1, nil}, {0, 6, 2, []int64{0, 2, 4}},
		{1, 6, 2, []int64{1, 3, 5}}, {0, 5, 4, []int64{0, 4}}, {5, 0, -1, []int64{5, 4, 3, 2, 1}},
		{-1, math.MinInt64, -1, []int64{5, 4, 3, 2, 1, 0}}, {99, -99, -2, []int64{5, 3, 1}},
		{4, 1, -2, []int64{4, 2}}, {4, -6, -2, []int64{4, 2}}, {4, -7, -2, []int64{4, 2, 0}}, {1, 4, -1, nil},
		{0, 6, 1 << 31, []int64{0}}, {5, 0, -1 << 31, []int64{5}},
	} {
		want := shaped([]int{len(c.want)}, c.want...)
		check(t, nodeOf("Slice"), want, x, vector([]int64{c.start}), vector([]int64{c.end}), vector([]int64{0}),
			vector([]int64{c.step}))
		if c.step == 1 {
			check(t, nodeOf("Slice"), want, x, vector([]int64{c.start}), vector([]int64{c.end}))
		}
	}
	check(t, nodeOf("Slice"), shaped([]int{1, 2}, 5, 4), block(2, 3), vector([]int64{2, 1}),
		vector([]int64{0, 2}), vector([]int64{-1, 0}), vector([]int64{-1, 1}))
	two := vector([]int64{0, 0})
	refuse(t, nodeOf("Slice"), "step 0", x, vector([]int64{0}), vector([]int64{1}), vector([]int64{0}),
		vector([]int64{0}))
	refuse(t, nodeOf("Slice"), "along axis 0", block(2, 2), two, two, two)
	refuse(t, nodeOf("Slice"), "differ in number", x, two, two)
	refuse(t, nodeOf("Slice"), "differ in number", x, two, vector([]int64{1}))
	refuse(t, nodeOf("Slice"), "axis 1 does not exist: the tensor has 1 axes", x, vector([]int64{0}),
		vector([]int64{1}),
		vector([]int64{1}))
	refuse(t, nodeOf("Slice"), fmt.Sprintf("step %d", 1<<31+1), x, vector([]int64{0}), vector([]int64{1}),
		vector([]int64{0}), vector([]int64{1<<31 + 1}))
}

// Parts are of the sizes that are given, else of one size, but for the last.
func TestSplits(t *testing.T) {
	outs := func(n int, attrs ...any) *node {
		split := nodeOf("Split", attrs...)
		split.Outputs = slices.Repeat([]string{"y"}, n)
		return split
	}
	parts := func(n *node, in ...*tensor.Tensor) []int {
		t.Helper()
		got, err := (&graph{opset: 13}).compute(n, in)
		if err != nil {
			t.Error(err)
		}
		var sizes []int
		next := int64(0)
		for _, a := range got {
			sizes = append(sizes, a.Len())
			for _, v := range a.Ints {
				if v != next {
					t.Errorf("parts %v", a.Ints)
				}
				next++
			}
		}
		return sizes
	}
	if got := parts(outs(3), block(7)); !slices.Equal(got, []int{3, 3, 1}) {
		t.Errorf("sevenths in three: %v", got)
	}
	if got := parts(outs(4), block(5)); !slices.Equal(got, []int{2, 2, 1, 0}) {
		t.Errorf("fifths in four: %v", got)
	}
	if got := parts(outs(2), block(4), vector([]int64{1, 3})); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("one and three: %v", got)
	}
	got, err := (&graph{opset: 13}).compute(outs(2, "axis", -1), []*tensor.Tensor{block(2, 3), vector([]int64{1, 2})})
	if err != nil || !sameArray(got[0], shaped([]int{2, 1}, 0, 3)) ||
		!sameArray(got[1], shaped([]int{2, 2}, 1, 2, 4, 5)) {
		t.Errorf("%+v, %v", got, err)
	}
	refuse(t, outs(2), "3 parts for 2 outputs", block(6), vector([]int64{2, 2, 2}))
	refuse(t, outs(2), "parts [2 3] do not add up to the axis of 6", block(6), vector([]int64{2, 3}))
	refuse(t, outs(2), "parts [3 4] do not add up to the axis of 6", block(6), vector([]int64{3, 4}))
	refuse(t, outs(2), "parts [7 -1] do not add up to the axis of 6", block(6), vector([]int64{7, -1}))
	refuse(t, outs(0), "no outputs", block(6)) // which some model may have
}
