package graphrun

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// rounds is a loop of n rounds around a body.
func rounds(n int64, body *onnx.Graph, state string, outputs ...string) ([]onnx.Node, onnx.Tensor) {
	l := loopNode(body, outputs...)
	l.Name, l.Inputs = "round and round", []string{"n", "", state}
	return []onnx.Node{l}, onnx.Ints("n", []int64{1}, []int64{n})
}

// A product counts its multiply-adds, before it is made, and a run that takes too many is an error that names the
// node. The next run counts from zero.
func TestWorkIsBounded(t *testing.T) {
	body := bodyOf([]onnx.Node{{Op: "Identity", Inputs: []string{"on"}, Outputs: []string{"on2"}},
		{Op: "MatMul", Name: "large product", Inputs: []string{"state", "state"}, Outputs: []string{"state2"}}},
		"on2", "state2")
	nodes, n := rounds(10, body, "x", "y")
	p, err := compileNodes(nodes, "y", n)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 3*64)
	if _, err := p.Run(x); err != nil {
		t.Fatal(err)
	}
	// A product has 3 x 8 x 8 x 8 multiply-adds, and takes and makes three tensors; Identity two truths. The loop has
	// its number of rounds and x as inputs, and y as output.
	const round = 3*512 + 3*192*moveWork + 2*moveWork + 2*nodeWork
	if want := int64(10*round + nodeWork + (1+2*192)*moveWork); p.work != want {
		t.Errorf("the run counted %d multiply-adds, want %d", p.work, want)
	}
	whole := p.work
	p.maxWork = nodeWork + (1+192)*moveWork + round - 192*moveWork - 1 // one less than the first product takes
	_, err = p.Run(x)
	var over *WorkError
	if !errors.As(err, &over) || !strings.Contains(err.Error(), "large product") {
		t.Errorf("%v, want an error of work that names the product", err)
	}
	p.maxWork = whole
	for range 2 {
		if _, err := p.Run(x); err != nil {
			t.Error(err)
		}
	}
}

// Every operator counts at least itself and the values that it takes and makes.
func TestWorkOfEveryNode(t *testing.T) {
	for _, op := range []string{"Neg", "Identity", "Softmax", "GlobalAveragePool", "Transpose", "ReduceMean"} {
		p, err := compileNodes([]onnx.Node{{Op: op, Inputs: []string{"x"}, Outputs: []string{"y"}}}, "y")
		if err != nil {
			t.Fatal(op, err)
		}
		if _, err := p.Run(make([]float32, 3*64)); err != nil {
			t.Fatal(op, err)
		}
		if least := int64(nodeWork + moveWork*192); p.work < least {
			t.Errorf("%s counted %d, want at least %d", op, p.work, least)
		}
	}
}

// Large models may take more work than small ones: 500 GFLOP an image, which are half as many multiply-adds, always.
func TestLimitOfWork(t *testing.T) {
	image := []int{1, 3, 224, 224}
	for _, c := range []struct {
		weights int
		want    int64
	}{{0, minWork}, {1000, minWork}, {8 << 20, 8 << 20 * 3 * 224 * 224}, {64 << 20, maxWork}} {
		p := &Program{values: []value{{constant: &Tensor{Floats: make([]float32, c.weights)}}, {}}}
		if p.limitWork(image); p.maxWork != c.want || p.maxWork < 250e9 {
			t.Errorf("%d weights: %d, want %d", c.weights, p.maxWork, c.want)
		}
	}
}

// Appending to a sequence in a loop copies it only when its memory is full.
func TestAppendingIsNotQuadratic(t *testing.T) {
	work := func(n int64) int64 {
		body := bodyOf([]onnx.Node{{Op: "Identity", Inputs: []string{"on"}, Outputs: []string{"on2"}},
			{Op: "SequenceInsert", Inputs: []string{"state", "i"}, Outputs: []string{"state2"}}}, "on2", "state2")
		nodes, count := rounds(n, body, "empty", "all")
		nodes = append([]onnx.Node{{Op: "SequenceEmpty", Outputs: []string{"empty"}}}, nodes...)
		nodes = append(nodes, onnx.Node{Op: "SequenceLength", Inputs: []string{"all"}, Outputs: []string{"y"}})
		p, err := compileNodes(nodes, "y", count)
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Run(make([]float32, 3*64))
		if err != nil || out[0].Ints[0] != n {
			t.Fatalf("%v, %v, want a sequence of %d", out, err, n)
		}
		return p.work
	}
	if one, ten := work(2000), work(20000); ten > 11*one {
		t.Errorf("20000 insertions count as %d, ten times 2000 as %d", ten, 10*one)
	}
}

// Sequences that grow from the same one do not share what was appended.
func TestSequencesThatGrowFromOne(t *testing.T) {
	c := &call{Program: &Program{}}
	at := func(v int64) *Tensor { return intsOf([]int{}, []int64{v}) }
	values := func(s *Tensor) (out []int64) {
		for _, t := range s.list {
			out = append(out, t.Ints[0])
		}
		return out
	}
	grow := func(s *Tensor, v int64) *Tensor { return c.appendTensor(s, at(v))[0] }
	first := grow(grow(&Tensor{list: []*Tensor{}}, 1), 2)
	left, right := grow(first, 3), grow(first, 4)
	left2 := grow(left, 5)
	for _, x := range []struct {
		s    *Tensor
		want []int64
	}{{first, []int64{1, 2}}, {left, []int64{1, 2, 3}}, {right, []int64{1, 2, 4}}, {left2, []int64{1, 2, 3, 5}}} {
		if got := values(x.s); !slices.Equal(got, x.want) {
			t.Errorf("%d, want %d", got, x.want)
		}
	}
}
