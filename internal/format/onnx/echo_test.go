package onnx

import (
	"slices"
	"strings"
	"testing"
)

// What a model says of itself is cut and on one line wherever it is repeated.
func TestWhatIsRepeatedIsShort(t *testing.T) {
	long := strings.Repeat("n\x1b[2J\n", 1<<16)
	many := slices.Repeat([]int64{1}, 10_000)
	const short = 1000
	clean := func(what, text string) {
		t.Helper()
		if len(text) > short || strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("%s: %d bytes: %.200q", what, len(text), text)
		}
	}
	for what, n := range map[string]*Node{
		"a name": {Name: long, Op: "Conv"}, "an operator": {Name: "n", Op: long},
		"a domain":  {Op: "Conv", Domain: long},
		"an output": {Op: "Conv", Outputs: []string{long}}, "nothing but an operator": {Op: long},
	} {
		clean(what, n.String())
	}
	sides := slices.Repeat([]Dim{{Name: "side"}}, 10_000)
	if text := (&Value{Type: Float32, Shape: sides}).String(); len(text) > short {
		t.Errorf("a shape of many sides: %d bytes", len(text))
	}
	for what, c := range map[string]struct {
		tensor Tensor
		says   string
	}{
		"many sides":         {Tensor{long, Float32, many, nil}, "has 10000 sides; at most 64 are read"},
		"a side too many":    {Tensor{long, Float32, many[:maxSides+1], make([]byte, 4)}, "has 65 sides"},
		"as many as may be":  {Tensor{"t", Float32, many[:maxSides], make([]byte, 4)}, ""},
		"a negative side":    {Tensor{long, Float32, []int64{2, -1}, nil}, "has a negative side"},
		"an unknown type":    {Tensor{long, 99, []int64{1}, nil}, "values of type type 99 are not read"},
		"an impossible size": {Tensor{long, Float32, []int64{1 << 62, 1 << 62}, nil}, "is impossible"},
		"too few bytes":      {Tensor{long, Float32, []int64{2}, make([]byte, 7)}, "shape [2] of FLOAT asks for 8"},
		"no bytes":           {Tensor{"t", Float32, []int64{0, 3}, nil}, ""},
	} {
		err := c.tensor.check()
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
		if err != nil {
			clean(what, err.Error())
		}
	}
	words := Tensor{Name: long, Type: String}
	if _, err := words.Float32s(); err == nil {
		t.Error("texts are numbers")
	} else {
		clean("texts as floating-point numbers", err.Error())
	}
	if _, err := words.Int64s(); err == nil {
		t.Error("texts are integers")
	} else {
		clean("texts as integers", err.Error())
	}
	// Names that are quoted whole are cut with the message around them.
	node := Node{Name: "n", Op: "Relu", Inputs: []string{"a" + strings.Repeat("b", 1<<20)}, Outputs: []string{"y"}}
	m := &Model{Graph: Graph{Nodes: []Node{node}, Outputs: []Value{{Name: "y"}}}}
	if err := m.Check(); err == nil || len(err.Error()) > 5000 || !strings.Contains(err.Error(), `input "ab`) ||
		!strings.HasSuffix(err.Error(), "of an earlier node") {
		t.Errorf("an input of a long name: %.300v", err)
	}
}
