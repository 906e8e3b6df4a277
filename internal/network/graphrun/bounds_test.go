package graphrun

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

func limitMemory(t testing.TB, bytes int64) {
	old := debug.SetMemoryLimit(bytes)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
}

func graphAttr(name string, g *onnx.Graph) onnx.Attr {
	return onnx.Attr{Name: name, Type: onnx.AttrGraph, Graph: g}
}

// loopNode is a loop without end around body, whose inputs are i, on and state.
func loopNode(body *onnx.Graph, outputs ...string) onnx.Node {
	return onnx.Node{Op: "Loop", Inputs: []string{"", "", "x"}, Outputs: outputs,
		Attrs: []onnx.Attr{graphAttr("body", body)}}
}

func bodyOf(nodes []onnx.Node, outputs ...string) *onnx.Graph {
	g := &onnx.Graph{Nodes: nodes, Inputs: []onnx.Value{{Name: "i"}, {Name: "on"}, {Name: "state"}}}
	for _, name := range outputs {
		g.Outputs = append(g.Outputs, onnx.Value{Name: name})
	}
	return g
}

func compileNodes(nodes []onnx.Node, output string, constants ...onnx.Tensor) (*Program, error) {
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{Nodes: nodes, Initializers: constants,
		Inputs:  []onnx.Value{{Name: "x", Type: onnx.Float32}},
		Outputs: []onnx.Value{{Name: output}}}}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return Compile(m, Options{Input: "x", Shape: []int{1, 3, 8, 8}, Type: onnx.Float32, Outputs: []string{output}})
}

// Loops end, loops within loops too, and what they collect is within the limit.
func TestLoopsEnd(t *testing.T) {
	same := []onnx.Node{{Op: "Identity", Inputs: []string{"on"}, Outputs: []string{"on2"}},
		{Op: "Neg", Inputs: []string{"state"}, Outputs: []string{"state2"}}}
	inner := onnx.Node{Op: "Loop", Inputs: []string{"", "", "state"}, Outputs: []string{"state2"},
		Attrs: []onnx.Attr{graphAttr("body", &onnx.Graph{
			Nodes: []onnx.Node{{Op: "Identity", Inputs: []string{"k on"}, Outputs: []string{"k on2"}},
				{Op: "Neg", Inputs: []string{"k state"}, Outputs: []string{"k state2"}}},
			Inputs:  []onnx.Value{{Name: "k"}, {Name: "k on"}, {Name: "k state"}},
			Outputs: []onnx.Value{{Name: "k on2"}, {Name: "k state2"}}})}}
	for name, c := range map[string]struct {
		node onnx.Node
		want string
	}{
		"without end": {loopNode(bodyOf(same, "on2", "state2"), "y"), "more than 65536 rounds"},
		"nested": {loopNode(bodyOf([]onnx.Node{same[0], inner}, "on2", "state2"), "y"),
			"more than 65536 rounds"},
		"of another length": {loopNode(bodyOf(same, "on2"), "y"), "does not fit its inputs"},
	} {
		if _, err := compileNodes([]onnx.Node{c.node}, "y"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	limitMemory(t, 16<<20)
	_, err := compileNodes([]onnx.Node{loopNode(bodyOf(same, "on2", "state2", "state2"), "y", "all")}, "all")
	var large *budget.Error
	if !errors.As(err, &large) {
		t.Errorf("a loop that collects without end: %v", err)
	}
}

// What a model asks for is compared with the limit before it is made.
func TestShapesKeepToTheLimit(t *testing.T) {
	limitMemory(t, 64<<20)
	huge := onnx.Ints("n", []int64{4}, []int64{1 << 20, 1 << 20, 1 << 20, 1 << 20})
	one := onnx.Ints("n", []int64{1}, []int64{1 << 40})
	pads := onnx.Ints("n", []int64{8}, []int64{0, 0, 1 << 30, 0, 0, 0, 1 << 30, 1 << 30})
	scales := onnx.Floats("n", []int64{4}, []float32{1e6, 1e6, 1e6, 1e6})
	wide := []onnx.Attr{{Name: "kernel_shape", Type: onnx.AttrInts, Ints: []int64{1 << 20, 1 << 20}},
		{Name: "pads", Type: onnx.AttrInts, Ints: []int64{1 << 20, 1 << 20, 1 << 20, 1 << 20}}}
	for name, c := range map[string]struct {
		node     onnx.Node
		constant onnx.Tensor
	}{
		"Expand":           {onnx.Node{Op: "Expand", Inputs: []string{"x", "n"}}, huge},
		"Tile":             {onnx.Node{Op: "Tile", Inputs: []string{"x", "n"}}, huge},
		"ConstantOfShape":  {onnx.Node{Op: "ConstantOfShape", Inputs: []string{"n"}}, huge},
		"of one long side": {onnx.Node{Op: "ConstantOfShape", Inputs: []string{"n"}}, one},
		"Pad":              {onnx.Node{Op: "Pad", Inputs: []string{"x", "n"}}, pads},
		"Resize":           {onnx.Node{Op: "Resize", Inputs: []string{"x", "", "n"}}, scales},
		"Reshape":          {onnx.Node{Op: "Reshape", Inputs: []string{"x", "n"}}, huge},
		"a wide pool":      {onnx.Node{Op: "MaxPool", Inputs: []string{"x"}, Attrs: wide}, one},
		"a wide norm":      {onnx.Node{Op: "LpPool", Inputs: []string{"x"}, Attrs: wide}, one},
	} {
		c.node.Outputs = []string{"y"}
		if _, err := compileNodes([]onnx.Node{c.node}, "y", c.constant); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Values that are returned as they came, constants among them, and values that a body takes from
// around it, last as long as they are read.
func TestValuesLast(t *testing.T) {
	x := make([]float32, 3*64)
	for i := range x {
		x[i] = float32(i) - 90
	}
	branch := func(op string) *onnx.Graph {
		return &onnx.Graph{Nodes: []onnx.Node{{Op: op, Inputs: []string{"a"}, Outputs: []string{op + " of a"}}},
			Outputs: []onnx.Value{{Name: op + " of a"}}}
	}
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{
		Inputs:       []onnx.Value{{Name: "x", Type: onnx.Float32}},
		Initializers: []onnx.Tensor{onnx.Floats("c", []int64{2}, []float32{5, float32(math.Inf(1))})},
		Nodes: []onnx.Node{{Op: "Neg", Inputs: []string{"x"}, Outputs: []string{"a"}},
			{Op: "ReduceMax", Inputs: []string{"x"}, Outputs: []string{"top"},
				Attrs: []onnx.Attr{{Name: "keepdims", Type: onnx.AttrInt}}},
			{Op: "Cast", Inputs: []string{"top"}, Outputs: []string{"yes"},
				Attrs: []onnx.Attr{{Name: "to", Type: onnx.AttrInt, Int: int64(onnx.Bool)}}},
			{Op: "If", Inputs: []string{"yes"}, Outputs: []string{"b"}, Attrs: []onnx.Attr{
				graphAttr("then_branch", branch("Abs")), graphAttr("else_branch", branch("Neg"))}},
			{Op: "Add", Inputs: []string{"b", "a"}, Outputs: []string{"sum"}}},
		Outputs: []onnx.Value{{Name: "sum"}, {Name: "x"}, {Name: "c"}, {Name: "a"}},
	}}
	p, err := Compile(m, Options{Input: "x", Shape: []int{1, 3, 8, 8}, Type: onnx.Float32,
		Outputs: []string{"sum", "x", "c", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		out, err := p.Run(x)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			want := float32(math.Abs(float64(v))) - v
			if out[0].Floats[i] != want || out[1].Floats[i] != v || out[3].Floats[i] != -v {
				t.Fatalf("value %d of %g: %g, %g, %g", i, v, out[0].Floats[i], out[1].Floats[i], out[3].Floats[i])
			}
		}
		if out[2].Floats[0] != 5 || !math.IsInf(float64(out[2].Floats[1]), 1) {
			t.Errorf("the constant is %v", out[2].Floats)
		}
	}
}

// A run takes no memory that the next one cannot have, also where what it returns lies in another
// order than its shape.
func TestRunsTakeNoMore(t *testing.T) {
	filters := onnx.Floats("w", []int64{4, 3, 3, 3}, make([]float32, 108))
	p, err := compileNodes([]onnx.Node{{Op: "Conv", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}}, "y", filters)
	if err != nil {
		t.Fatal(err)
	}
	var held []int64
	for range 4 {
		if _, err := p.Run(make([]float32, 3*64)); err != nil {
			t.Fatal(err)
		}
		held = append(held, p.run.Pool.Held(), p.run.Pool.Live())
	}
	if held[2] != held[6] || held[3] != held[7] {
		t.Errorf("memory held and in use after each run: %d", held)
	}
}

// FuzzCompile: no model makes the executor panic, or take memory beyond the limit.
func FuzzCompile(f *testing.F) {
	for _, path := range smallGraphs(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		limitMemory(t, 64<<20)
		m, err := onnx.Parse(data)
		if err != nil || len(m.Graph.Nodes) > 200 || len(m.Graph.Inputs) == 0 {
			return
		}
		in := m.Graph.Inputs[0]
		shape := smallShape
		if in.Shape != nil {
			shape = nil
			for _, d := range in.Shape {
				shape = append(shape, int(min(max(d.Size, 1), 8)))
			}
		}
		for _, o := range m.Graph.Outputs {
			p, err := Compile(m, Options{Input: in.Name, Shape: shape, Type: in.Type, Outputs: []string{o.Name}})
			if err != nil {
				continue
			}
			x := make([]float32, tensor.Size(shape))
			for i := range x {
				x[i] = float32(i%5) - 2
			}
			if out, err := p.Run(x); err == nil && out[0].List == nil && out[0].Len() != tensor.Size(out[0].Shape) {
				t.Errorf("%d values of shape %d", out[0].Len(), out[0].Shape)
			}
		}
	})
}
