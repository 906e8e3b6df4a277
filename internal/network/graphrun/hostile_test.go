package graphrun

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// attempt is one operator with inputs.
type attempt struct {
	node  onnx.Node
	opset int64
	in    []*tensor.Tensor // nil: left out
	known bool             // the inputs are constants
}

func (a *attempt) String() string {
	text := fmt.Sprintf("%s of opset %d, constants %v", a.node.Op, a.opset, a.known)
	for _, x := range a.node.Attrs {
		text += fmt.Sprintf(" %s=%d/%g/%q/%d", x.Name, x.Int, x.Float, x.String, x.Ints)
	}
	for _, t := range a.in {
		switch {
		case t == nil:
			text += " nil"
		case t.Len() < 12:
			text += fmt.Sprintf(" %s%d%v%v", t.Type, t.Shape, t.Floats, t.Ints)
		default:
			text += fmt.Sprintf(" %s%d last=%v", t.Type, t.Shape, t.Last)
		}
	}
	return text
}

// run computes it. It reports a panic and results that contradict themselves as failures; an error
// is none.
func (a *attempt) run() (err, failure error) {
	defer func() {
		if r := recover(); r != nil {
			failure = fmt.Errorf("panics: %v\n%s", r, debug.Stack())
		}
	}()
	p := &Program{run: operator.State{Opset: a.opset, Pool: tensor.NewPool()}}
	n := &node{Node: &a.node, compute: operatorOf(&a.node)}
	for _, t := range a.in {
		if t == nil {
			n.in = append(n.in, -1)
			continue
		}
		n.in = append(n.in, len(p.values))
		v, own := value{}, t.Clone()
		own.Hold()
		if a.known && !t.Last {
			v.constant = own
		}
		p.values, p.live = append(p.values, v), append(p.live, own)
	}
	for range a.node.Outputs {
		n.out = append(n.out, len(p.values))
		p.values, p.live = append(p.values, value{}), append(p.live, nil)
	}
	c := p.call(n)
	out, err := c.run()
	if err != nil {
		return err, nil
	}
	for _, t := range out {
		if t == nil || t.List != nil {
			continue
		}
		have, other := len(t.Floats), t.Ints != nil
		if !t.IsFloat() {
			have, other = len(t.Ints), t.Floats != nil
		}
		if have != tensor.Size(t.Shape) || other || t.Last && len(t.Shape) != 4 {
			return nil, fmt.Errorf("makes %d values of type %s for shape %d", have, t.Type, t.Shape)
		}
		if err := inOrder(c, t); err != nil {
			return err, nil
		}
	}
	return nil, nil
}

// inOrder brings a result into the order of its shape, as a program that returns it does.
func inOrder(c *call, t *tensor.Tensor) (err error) {
	defer operator.Catch(&err)
	c.Contiguous(t)
	return nil
}

// attempts are the nodes of the graphs of testdata with the inputs that they have there, at most
// most of each operator.
func attempts(t *testing.T, most int) []attempt {
	t.Helper()
	var list []attempt
	count := map[string]int{}
	for _, path := range smallGraphs(t) {
		m, err := onnx.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range m.Graph.Nodes {
			names = append(names, n.Inputs...)
		}
		names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
		p, err := Compile(m, Options{Input: "x", Shape: smallShape, Type: onnx.Float32, Outputs: names})
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Run(smallInput())
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]*tensor.Tensor{}
		for i, name := range names {
			values[name] = out[i].Clone()
		}
		for _, n := range m.Graph.Nodes {
			key := n.Domain + n.Op
			inner := slices.ContainsFunc(n.Attrs, func(a onnx.Attr) bool { return a.Graph != nil })
			if count[key]++; count[key] > most || inner {
				continue
			}
			a := attempt{node: n, opset: m.Opset()}
			for _, name := range n.Inputs {
				a.in = append(a.in, values[name])
			}
			list = append(list, a)
		}
	}
	return list
}

// oddTensors are what an operator may get in place of what it expects.
func oddTensors() []*tensor.Tensor {
	list := []*tensor.Tensor{nil}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, shape := range [][]int{{}, {0}, {1}, {2}, {4}, {0, 3}, {3, 0}, {1, 1}, {4, 6}, {2, 0, 3}, {1, 3, 4},
		{2, 4, 6, 6},
		{1, 4, 5, 3}, {1, 4, 0, 6}, {0, 4, 6, 6}, {2, 0, 6, 6}, {2, 4, 1, 1}, {1, 2, 3, 2, 2}, {2, 1, 2, 1, 2, 2},
		{1, 1, 1, 1, 1, 1, 0}} {
		v := make([]float32, tensor.Size(shape))
		for i := range v {
			v[i] = float32(i%7) - 2.5
		}
		list = append(list, tensor.Floats(shape, v))
		if len(shape) == 4 {
			image := tensor.Floats(shape, v)
			image.Last = true
			list = append(list, image)
		}
		whole := make([]int64, tensor.Size(shape))
		for i := range whole {
			whole[i] = int64(i%5) - 1
		}
		list = append(list, tensor.Integers(shape, whole))
	}
	list = append(list, tensor.Floats([]int{}, []float32{nan}), tensor.Floats([]int{}, []float32{inf}),
		tensor.Floats([]int{4}, []float32{1, 1, 1e30, inf}), tensor.Floats([]int{4}, []float32{1, nan, -1, 0}),
		tensor.Floats([]int{}, []float32{0}), tensor.Floats([]int{}, []float32{1e-30}))
	for _, v := range [][]int64{{-1, -1}, {0, 0}, {1 << 40, 1 << 40}, {1 << 20, 1 << 20, 1 << 20},
		{math.MinInt64, math.MaxInt64},
		{1, 1, 1 << 31, 1}, {3, 3, 3, 3}, {0, 0, 0, 0, 0, 0, 1 << 30, 1 << 30}, {0, 0, -9, -9, 0, 0, 0, 0},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, 1, 1, 1, 1}, make([]int64, 70)} {
		list = append(list, tensor.Integers([]int{len(v)}, v))
	}
	for _, v := range []int64{0, 1, -1, 3, 1 << 31, 1 << 62, math.MinInt64, math.MaxInt64} {
		list = append(list, tensor.Integers([]int{}, []int64{v}))
	}
	for _, typ := range []onnx.DataType{onnx.Bool, onnx.Uint8, onnx.Int8, onnx.Int32} {
		for _, shape := range [][]int{{}, {6}, {2, 4, 6, 6}} {
			x := tensor.Integers(shape, slices.Repeat([]int64{1}, tensor.Size(shape)))
			x.Type = typ
			list = append(list, x)
		}
	}
	empty := tensor.Sequence(nil)
	filled := tensor.Sequence([]*tensor.Tensor{tensor.Floats([]int{2}, []float32{1, 2}),
		tensor.Integers([]int{}, []int64{3})})
	return append(list, empty, filled)
}

// attributeNames are those that operators of this package read.
var attributeNames = []string{"axis", "axes", "perm", "kernel_shape", "strides", "pads", "dilations", "group",
	"auto_pad", "ceil_mode", "count_include_pad", "blocksize", "k", "to", "keepdims", "num_groups", "num_heads",
	"q_num_heads", "kv_num_heads", "rotary_embedding_dim", "batch_dims", "mode", "equation", "shape", "starts", "ends",
	"steps", "split", "num_outputs", "output_shape", "output_padding", "size", "p", "transA", "transB", "alpha",
	"scales", "value", "dtype", "output_dtype", "batch_axis", "time_axis", "start", "end", "storage_order", "fmod",
	"activation", "broadcast", "min", "max", "reduction", "allowzero", "new_axis", "is_causal", "epsilon", "beta"}

func oddAttributes(name string) []onnx.Attr {
	var list []onnx.Attr
	for _, v := range []int64{0, 1, -1, 2, 5, 1 << 20, 1 << 40, math.MinInt64, math.MaxInt64} {
		list = append(list, onnx.Attr{Name: name, Type: onnx.AttrInt, Int: v})
	}
	for _, v := range [][]int64{{}, {0}, {0, 0}, {1, 1}, {-1, -2}, {3, 2, 1, 0}, {1 << 20, 1 << 20}, {1 << 40, 1 << 40},
		{2, 2, 2, 2}, {1 << 20, 1 << 20, 1 << 20, 1 << 20}, {math.MinInt64, math.MaxInt64},
		{-1 << 20, 0, 0, -1 << 20}} {
		list = append(list, onnx.Attr{Name: name, Type: onnx.AttrInts, Ints: v})
	}
	for _, v := range []string{"", "SAME_UPPER", "SAME_LOWER", "wrap", "CRD", "ij->ji", "...,...", "a,a->", "aa...",
		"Relu",
		"->", "i...j,k->"} {
		list = append(list, onnx.Attr{Name: name, Type: onnx.AttrString, String: v})
	}
	for _, v := range []float32{0, -1, float32(math.NaN()), float32(math.Inf(1))} {
		list = append(list, onnx.Attr{Name: name, Type: onnx.AttrFloat, Float: v})
	}
	return append(list, onnx.Attr{Name: name, Type: onnx.AttrFloats, Floats: []float32{0, 1e30, -1, 1}},
		onnx.Attr{Name: name, Type: onnx.AttrFloats})
}

// with returns the attempt with an attribute set.
func (a attempt) with(x onnx.Attr) attempt {
	a.node.Attrs = slices.DeleteFunc(slices.Clone(a.node.Attrs), func(b onnx.Attr) bool { return b.Name == x.Name })
	a.node.Attrs = append(a.node.Attrs, x)
	return a
}

// put returns the attempt with another input.
func (a attempt) put(i int, t *tensor.Tensor) attempt {
	a.in = slices.Clone(a.in)
	for len(a.in) <= i {
		a.in = append(a.in, nil)
	}
	a.in[i] = t
	return a
}

// variants calls try with an attempt in which one thing is odd, and many in which several are.
func (a attempt) variants(rng *rand.Rand, odd []*tensor.Tensor, few int, try func(a attempt)) {
	for n := range len(a.in) + 1 {
		b := a
		b.in = a.in[:n]
		try(b)
	}
	for i := range len(a.in) + 1 {
		for _, t := range odd {
			try(a.put(i, t))
		}
	}
	names := slices.Clone(attributeNames[:8])
	for _, x := range a.node.Attrs {
		names = append(names, x.Name)
	}
	for _, name := range names {
		for _, x := range oddAttributes(name) {
			try(a.with(x))
		}
	}
	for range few {
		b := a
		for range 1 + rng.IntN(3) {
			if rng.IntN(2) == 0 {
				b = b.put(rng.IntN(len(a.in)+1), odd[rng.IntN(len(odd))])
			} else {
				list := oddAttributes(attributeNames[rng.IntN(len(attributeNames))])
				b = b.with(list[rng.IntN(len(list))])
			}
		}
		b.node.Outputs = slices.Repeat([]string{"y"}, 1+rng.IntN(3))
		b.opset = []int64{6, 9, 10, 12, 13, 18, 23}[rng.IntN(7)]
		try(b)
	}
}

// No operator panics or takes more memory than the limit, whatever its inputs and attributes are, and
// what it returns has as many values as its shape says. One core runs all, so that no panic is on
// another goroutine.
func TestHostileOperators(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(32 << 20))
	rng := rand.New(rand.NewPCG(7, 7))
	odd := oddTensors()
	few, most := 300, 3
	if testing.Short() {
		few, most = 40, 1
	}
	failed := map[string]int{}
	var fine, refused int
	for _, a := range attempts(t, most) {
		if err, failure := a.run(); err != nil || failure != nil {
			t.Fatalf("%s, as it stands in testdata: %v %v", &a, err, failure)
		}
		a.variants(rng, odd, few, func(b attempt) {
			b.known = rng.IntN(2) == 0
			err, failure := b.run()
			var limit *budget.Error
			switch {
			case failure != nil:
				if failed[b.node.Op]++; failed[b.node.Op] < 3 {
					t.Errorf("%s: %v", &b, failure)
				}
			case err == nil:
				fine++
			case errors.As(err, &limit) && limit.Need <= limit.Limit:
				t.Errorf("%s: %v", &b, err)
			default:
				refused++
			}
		})
	}
	t.Logf("%d computed, %d refused", fine, refused)
	if fine < 1000 || refused < 1000 {
		t.Errorf("only %d computed and %d refused", fine, refused)
	}
}
