package onnxnet

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Ranges go from a start up to an end or down, in steps; those that would not end, or be too
// long, are refused.
func TestRanges(t *testing.T) {
	one := func(v int64) *tensor.Tensor { return shaped([]int{}, v) }
	for _, c := range []struct {
		from, to, step int64
		want           []int64
	}{{0, 3, 1, []int64{0, 1, 2}}, {1, 6, 2, []int64{1, 3, 5}}, {5, 5, 1, nil}, {5, 0, -2, []int64{5, 3, 1}},
		{2, 4, -1, nil}, {4, 2, 1, nil}, {-3, 0, 3, []int64{-3}},
		{math.MaxInt64 - 2047, math.MaxInt64 - 1023, 4096, []int64{math.MaxInt64 - 2047}}, // beyond which nothing lies
		{1 << 60, 1<<60 + 3, 1, []int64{1 << 60, 1<<60 + 1, 1<<60 + 2}},
	} {
		check(t, nodeOf("Range"), shaped([]int{len(c.want)}, c.want...), one(c.from), one(c.to), one(c.step))
	}
	got, err := (&graph{opset: 13}).compute(nodeOf("Range"), []*tensor.Tensor{one(0), one(1 << 20), one(1)})
	if err != nil || got[0].Len() != 1<<20 {
		t.Errorf("%v", err)
	}
	for _, c := range [][3]int64{{0, 5, 0}, {0, 1<<20 + 1, 1}, {1<<20 + 1, 0, -1}, {math.MinInt64, math.MaxInt64, 1},
		{math.MaxInt64, math.MinInt64, -1}, {math.MinInt64, math.MaxInt64, math.MaxInt64 >> 21}} {
		refuse(t, nodeOf("Range"), fmt.Sprintf("its range from %d to %d in steps of %d", c[0], c[1], c[2]), one(c[0]),
			one(c[1]), one(c[2]))
	}
	refuse(t, nodeOf("Range"), "a start, an end and a step", one(0), one(1))
	refuse(t, nodeOf("Range"), "a start, an end and a step", nil, one(0), one(1))
	refuse(t, nodeOf("Range"), "a start, an end and a step", one(0), one(1), vector(nil))
	refuse(t, nodeOf("Range"), "a start, an end and a step", one(0), vector([]int64{1, 2}), one(1))
	refuse(t, nodeOf("Range"), "floating-point", reals(0), one(1), one(1))
	refuse(t, nodeOf("Range"), "floating-point", one(0), reals(2.5), one(1))
	refuse(t, nodeOf("Range"), "floating-point", one(0), one(1), reals(0.5))
}

// Reductions of 2 x 3 values along each axis, all, and none.
func TestReductions(t *testing.T) {
	x := tensor.Floats([]int{2, 3}, []float32{1, -2, 3, -4, 5, 6})
	for op, want := range map[string][]float32{
		"ReduceSum": {2, 7}, "ReduceMean": {2. / 3, 7. / 3}, "ReduceSumSquare": {14, 77}, "ReduceL1": {6, 15},
		"ReduceL2": {float32(math.Sqrt(14)), float32(math.Sqrt(77))}, "ReduceProd": {-6, -120}, "ReduceMax": {3, 6},
		"ReduceMin": {-2, -4},
	} {
		for _, axis := range []int64{1, -1} {
			check(t, nodeOf(op), tensor.Floats([]int{2, 1}, want), x, vector([]int64{axis}))
			check(t, nodeOf(op, "keepdims", 0), reals(want...), x, vector([]int64{axis}))
			check(t, nodeOf(op, "axes", []int64{axis}), tensor.Floats([]int{2, 1}, want), x)
		}
	}
	check(t, nodeOf("ReduceSum"), tensor.Floats([]int{1, 3}, []float32{-3, 3, 9}), x, vector([]int64{0}))
	check(t, nodeOf("ReduceMax", "keepdims", 0), tensor.Floats([]int{}, []float32{6}), x)
	check(t, nodeOf("ReduceMax", "noop_with_empty_axes", 1), x, x)
	check(t, nodeOf("ReduceSum"), shaped([]int{1}, 6), vector([]int64{1, 2, 3}))
}

func TestJoins(t *testing.T) {
	check(t, nodeOf("Concat", "axis", 0), shaped([]int{3, 2}, 0, 1, 0, 1, 2, 3), block(1, 2), block(2, 2))
	check(t, nodeOf("Concat", "axis", -1), shaped([]int{2, 3}, 0, 1, 0, 2, 3, 1), block(2, 2), block(2, 1))
	check(t, nodeOf("Concat", "axis", 1), tensor.Floats([]int{2, 2}, []float32{1, 3, 2, 4}),
		tensor.Floats([]int{2, 1}, []float32{1, 2}), tensor.Floats([]int{2, 1}, []float32{3, 4}))
	refuse(t, nodeOf("Concat", "axis", 0), "shapes [1 2] and [1 3] cannot be joined along axis 0", block(1, 2),
		block(1, 3))
	refuse(t, nodeOf("Concat", "axis", 0), "shapes [2] and [1 2] cannot be joined", block(2), block(1, 2))
	refuse(t, nodeOf("Concat", "axis", 0), "integers and floating-point numbers", block(2), reals(1))
	refuse(t, nodeOf("Concat", "axis", 0), "left out", block(2), nil)
	check(t, nodeOf("Shape"), vector([]int64{2, 3, 4}), block(2, 3, 4))
	check(t, nodeOf("Shape", "start", 1), vector([]int64{3, 4}), block(2, 3, 4))
	check(t, nodeOf("Shape", "start", -2, "end", -1), vector([]int64{3}), block(2, 3, 4))
	check(t, nodeOf("Shape", "start", 2, "end", 1), shaped([]int{0}), block(2, 3, 4))
	check(t, nodeOf("Size"), shaped([]int{}, 24), block(2, 3, 4))
	check(t, nodeOf("ConstantOfShape"), tensor.Floats([]int{2, 1}, []float32{0, 0}), vector([]int64{2, 1}))
	refuse(t, nodeOf("ConstantOfShape"), "is not valid", vector([]int64{-1}))
	refuse(t, nodeOf("ConstantOfShape"), "no integers", reals(1))
}

// Offsets of what is spread and walked, sides that go together, and axes from either end.
func TestShapes(t *testing.T) {
	for _, c := range [][3][]int{{{2, 1}, {3}, {2, 3}}, {{}, {4}, {4}}, {{1, 5}, {7, 1, 1}, {7, 1, 5}},
		{{0}, {1}, {0}}} {
		for range 2 {
			if got, err := tensor.Broadcast(c[0], c[1]); err != nil || !slices.Equal(got, c[2]) {
				t.Errorf("%v and %v: %v, %v", c[0], c[1], got, err)
			}
			c[0], c[1] = c[1], c[0]
		}
	}
	if got, err := tensor.Broadcast([]int{2}, []int{3}); err == nil {
		t.Errorf("%v", got)
	}
	if got, err := spread(block(2, 1), []int{2, 2, 3}); err != nil ||
		!slices.Equal(got.Ints, []int64{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range [][2][]int{{{2}, {3}}, {{1, 2}, {2}}} {
		if got, err := spread(block(c[0]...), c[1]); err == nil {
			t.Errorf("%v spreads to %v: %v", c[0], c[1], got)
		}
	}
	if got := tensor.Strides([]int{4, 2, 5}); !slices.Equal(got, []int{10, 5, 1}) {
		t.Errorf("%v", got)
	}
	for axis, want := range map[int64]int{0: 0, 2: 2, -1: 2, -3: 0} {
		if got, err := tensor.AxisOf(axis, 3); err != nil || got != want {
			t.Errorf("axis %d is %d, %v", axis, got, err)
		}
	}
	for _, axis := range []int64{3, -4} {
		if _, err := tensor.AxisOf(axis, 3); err == nil {
			t.Errorf("axis %d of three", axis)
		}
	}
	if _, err := tensor.Length(slices.Repeat([]int{1}, 65)); err == nil {
		t.Error("65 sides")
	}
	if n, err := tensor.Length(slices.Repeat([]int{1}, 64)); err != nil || n != 1 {
		t.Errorf("64 sides: %d, %v", n, err)
	}
}

// Models with such operators are refused as a whole, with the operator's name.
func TestRefusedOperators(t *testing.T) {
	for name, c := range map[string]struct {
		make func(b *builder)
		want string
	}{
		"a range without end": {func(b *builder) {
			b.node("Range", []string{b.ints(math.MaxInt64 - 2047), b.ints(math.MaxInt64 - 1023), b.ints(1024)})
			b.node("Range", []string{b.ints(math.MinInt64), b.ints(math.MaxInt64), b.ints(1)})
		}, "its range from -9223372036854775808"},
		"a split of constants into none": {func(b *builder) {
			b.node("Split", []string{b.ints(1, 2)})
			b.m.Graph.Nodes[len(b.m.Graph.Nodes)-1].Outputs = nil
		}, "it has no outputs"},
		"a split of the picture into none": {func(b *builder) {
			b.node("Split", []string{"x"})
			b.m.Graph.Nodes[len(b.m.Graph.Nodes)-1].Outputs = nil
		}, "it has no outputs"},
	} {
		b := newBuilder(1, 3, 8, 8)
		c.make(b)
		_, err := Import(b.end("x"), Options{Trainable: true})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
