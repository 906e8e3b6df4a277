package graphrun

import (
	"errors"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
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
	const node, move = operator.NodeWork, operator.MoveWork
	const round = 3*512 + 3*192*move + 2*move + 2*node
	if want := int64(10*round + node + (1+2*192)*move); p.run.Work != want {
		t.Errorf("the run counted %d multiply-adds, want %d", p.run.Work, want)
	}
	whole := p.run.Work
	p.run.MaxWork = node + (1+192)*move + round - 192*move - 1 // one less than the first product takes
	_, err = p.Run(x)
	var over *operator.WorkError
	if !errors.As(err, &over) || !strings.Contains(err.Error(), "large product") {
		t.Errorf("%v, want an error of work that names the product", err)
	}
	p.run.MaxWork = whole
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
		if least := int64(operator.NodeWork + operator.MoveWork*192); p.run.Work < least {
			t.Errorf("%s counted %d, want at least %d", op, p.run.Work, least)
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
		p := &Program{values: []value{{constant: &tensor.Tensor{Floats: make([]float32, c.weights)}}, {}}}
		if p.limitWork(image); p.run.MaxWork != c.want || p.run.MaxWork < 250e9 {
			t.Errorf("%d weights: %d, want %d", c.weights, p.run.MaxWork, c.want)
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
		return p.run.Work
	}
	if one, ten := work(2000), work(20000); ten > 11*one {
		t.Errorf("20000 insertions count as %d, ten times 2000 as %d", ten, 10*one)
	}
}
