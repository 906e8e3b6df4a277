package onnxnet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
)

// builder makes models by hand. Node inputs that start with "=" are made
// initializers by the functions that return them.
type builder struct{ m onnx.Model }

// newBuilder begins a model whose input "x" has the given sides; 0 is open.
func newBuilder(sides ...int64) *builder {
	b := &builder{}
	b.m.Opsets = []onnx.Opset{{Version: 13}}
	in := onnx.Value{Name: "x", Type: onnx.Float32}
	for _, s := range sides {
		in.Shape = append(in.Shape, onnx.Dim{Size: s})
	}
	b.m.Graph.Inputs = []onnx.Value{in}
	return b
}

// floats adds an initializer of small values.
func (b *builder) floats(shape ...int64) string {
	name := fmt.Sprintf("w%d", len(b.m.Graph.Initializers))
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i%7-3) / 4
	}
	b.m.Graph.Initializers = append(b.m.Graph.Initializers, onnx.Floats(name, shape, v))
	return name
}

func (b *builder) ints(values ...int64) string {
	name := fmt.Sprintf("i%d", len(b.m.Graph.Initializers))
	b.m.Graph.Initializers = append(b.m.Graph.Initializers, onnx.Ints(name, []int64{int64(len(values))}, values))
	return name
}

// node adds one with an output of its own, which it returns. Attributes are pairs
// of a name and an int, []int64, float32 or string.
func (b *builder) node(op string, inputs []string, attrs ...any) string {
	out := fmt.Sprintf("v%d", len(b.m.Graph.Nodes))
	n := onnx.Node{Name: "n" + out[1:], Op: op, Inputs: inputs, Outputs: []string{out}}
	for i := 0; i < len(attrs); i += 2 {
		a := onnx.Attr{Name: attrs[i].(string)}
		switch v := attrs[i+1].(type) {
		case int:
			a.Type, a.Int = onnx.AttrInt, int64(v)
		case []int64:
			a.Type, a.Ints = onnx.AttrInts, v
		case float32:
			a.Type, a.Float = onnx.AttrFloat, v
		case string:
			a.Type, a.String = onnx.AttrString, v
		}
		n.Attrs = append(n.Attrs, a)
	}
	b.m.Graph.Nodes = append(b.m.Graph.Nodes, n)
	return out
}

func (b *builder) model(output string) *onnx.Model {
	b.m.Graph.Outputs = []onnx.Value{{Name: output}}
	return &b.m
}

// end adds a mean over positions.
func (b *builder) end(v string) *onnx.Model { return b.model(b.node("GlobalAveragePool", []string{v})) }

// Padding by name is that of the layers, for the size that the model is made for.
func TestPaddingByName(t *testing.T) {
	for _, c := range []struct {
		kernel, stride, size int64
		auto                 string
		pad, end             int
		err                  string
	}{
		{3, 1, 8, "SAME_UPPER", 1, 0, ""}, {3, 2, 8, "SAME_UPPER", 0, 1, ""}, {3, 2, 9, "SAME_UPPER", 1, 0, ""},
		{5, 2, 8, "SAME_UPPER", 1, 1, ""}, {3, 1, 8, "SAME_LOWER", 1, 0, ""}, {1, 2, 8, "SAME_UPPER", 0, 0, ""},
		{3, 2, 8, "VALID", 0, 0, ""}, {3, 2, 8, "SAME_LOWER", 0, 0, "at least as much at the bottom"},
		{2, 1, 8, "SAME_UPPER", 0, 1, ""}, {3, 1, 8, "SOME", 0, 0, `auto_pad "SOME"`},
	} {
		b := newBuilder(0, 3, c.size, c.size)
		v := b.node("Conv", []string{"x", b.floats(4, 3, c.kernel, c.kernel)}, "auto_pad", c.auto,
			"strides", []int64{c.stride, c.stride})
		net, err := Import(b.end(v), Options{Trainable: true})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(),
				`node "n0" (Conv)`) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if l := net.Spec.Layers[0]; l.Pad != c.pad || l.PadEnd != c.end {
			t.Errorf("%+v: pad %d, pad_end %d", c, l.Pad, l.PadEnd)
		}
	}
}

// What no layer is names its node, operator and the reason.
//
// Long: a table.
func TestWhatNetworksDoNotHave(t *testing.T) {
	image := []int64{0, 3, 8, 8}
	for _, c := range []struct {
		name string
		make func(b *builder) *onnx.Model
		want []string
	}{
		{"an unknown operator", func(b *builder) *onnx.Model { return b.end(b.node("Resize", []string{"x"})) },
			[]string{`node "n0" (Resize) of opset 13`, "would be too little: take a model of the layers"}},
		{"another's operator", func(b *builder) *onnx.Model {
			v := b.node("Relu", []string{"x"})
			b.m.Graph.Nodes[0].Domain = "com.example"
			return b.end(v)
		}, []string{`node "n0" (com.example.Relu)`}},
		{"dilation", func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.floats(4, 3, 3, 3)}, "dilations", []int64{2, 2}))
		}, []string{"(Conv)", "dilations [2 2]"}},
		{"a pool that is not square", func(b *builder) *onnx.Model {
			return b.end(b.node("MaxPool", []string{"x"}, "kernel_shape", []int64{1, 3}))
		}, []string{"(MaxPool)", "square"}},
		{"strides that differ", func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.floats(4, 3, 3, 3)}, "strides", []int64{1, 2}))
		}, []string{"(Conv)", "strides [1 2]"}},
		{"filters of other channels", func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.floats(4, 2, 3, 3)}))
		}, []string{"(Conv)", "for 3 channels"}},
		{"filters from the image", func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.node("Relu", []string{"x"})}))
		}, []string{"(Conv)"}},
		{"a kernel larger than the image", func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.floats(4, 3, 9, 9)}))
		}, []string{"(Conv)", "kernel of [9 9]"}},
		{"branches side by side", func(b *builder) *onnx.Model {
			p, q := b.node("Conv", []string{"x", b.floats(4, 3, 1, 1)}), b.node("Conv", []string{"x", b.floats(4, 3, 1,
				1)})
			return b.end(b.node("Concat", []string{p, q}, "axis", 2))
		}, []string{`node "n2" (Concat)`, "not the channels"}},
		{"branches with a constant", func(b *builder) *onnx.Model {
			return b.end(b.node("Concat", []string{b.node("Relu", []string{"x"}), b.floats(1, 2, 8, 8)}, "axis", 1))
		}, []string{"(Concat)"}},
		{"branches of other sizes", func(b *builder) *onnx.Model {
			p := b.node("Conv", []string{"x", b.floats(4, 3, 3, 3)})
			return b.end(b.node("Concat", []string{p, "x"}, "axis", 1))
		}, []string{"(Concat)"}},
		{"branches of branches", func(b *builder) *onnx.Model {
			v, u := "x", b.node("Conv", []string{"x", b.floats(3, 3, 1, 1)})
			for range 60 { // each needs the two before it
				v, u = u, b.node("Add", []string{b.node("Relu", []string{u}), b.node("Sigmoid", []string{v})})
			}
			return b.end(u)
		}, []string{"20000 layers"}},
		{"a leaky activation", func(b *builder) *onnx.Model { return b.end(b.node("LeakyRelu", []string{"x"})) },
			[]string{"(LeakyRelu)"}},
		{"a mask in attention", func(b *builder) *onnx.Model {
			v := b.node("Transpose", []string{b.node("Reshape", []string{"x", b.ints(0, 3, 64)})}, "perm", []int64{0,
				2, 1})
			q := b.node("MatMul", []string{v, b.floats(3, 3)})
			k := b.node("Transpose", []string{q}, "perm", []int64{0, 2, 1})
			s := b.node("Add", []string{b.node("MatMul", []string{q, k}), b.floats(64, 64)})
			return b.model(b.node("ReduceMean", []string{b.node("MatMul", []string{b.node("Softmax", []string{s}),
				q})}, "axes", []int64{1}))
		}, []string{"(Add)", "relative positions"}},
		{"padding with ones", func(b *builder) *onnx.Model {
			return b.end(b.node("Pad", []string{"x", b.ints(0, 0, 1, 1, 0, 0, 1, 1), b.floats(1)}))
		}, []string{"(Pad)", "zeros"}},
		{"padding before a norm", func(b *builder) *onnx.Model {
			v := b.node("Pad", []string{"x", b.ints(0, 0, 1, 1, 0, 0, 1, 1)})
			return b.end(b.node("Mul", []string{v, b.floats(3, 1, 1)}))
		}, []string{"(Mul)", "padded"}},
		{"means without the padding", func(b *builder) *onnx.Model {
			v := b.node("Pad", []string{"x", b.ints(0, 0, 1, 1, 0, 0, 1, 1)})
			return b.end(b.node("AveragePool", []string{v}, "kernel_shape", []int64{3, 3}, "pads", []int64{1, 1, 1,
				1}))
		}, []string{"(AveragePool)", "count all or none"}},
		{"a shape that does not fit", func(b *builder) *onnx.Model {
			return b.model(b.node("Reshape", []string{"x",
				b.ints(1, 7, -1)}))
		},
			[]string{"(Reshape)", "do not fill"}},
		{"a shape that overflows", func(b *builder) *onnx.Model {
			return b.model(b.node("Reshape", []string{"x", b.ints(1<<40, 1<<40, -1)}))
		}, []string{"(Reshape)", "is not valid"}},
		{"an array of 2^62", func(b *builder) *onnx.Model {
			return b.model(b.node("Add", []string{"x", b.node("ConstantOfShape", []string{b.ints(1<<31-1, 1<<31-1)})}))
		}, []string{"(ConstantOfShape)", "limit"}},
		{"an expansion of 2^60", func(b *builder) *onnx.Model {
			return b.model(b.node("Expand", []string{"x", b.ints(1<<30, 1<<30, 1, 1, 1)}))
		}, []string{"(Expand)", "limit"}},
		{"an axis that is not there", func(b *builder) *onnx.Model {
			return b.model(b.node("ReduceMean", []string{"x"},
				"axes", []int64{7}))
		},
			[]string{"(ReduceMean)", "axis 7"}},
		{"an attribute of another type", func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.floats(4, 3, 1, 1)}, "group", "one"))
		}, []string{"(Conv)", `attribute "group" is of type STRING`}},
		{"division by zero in a shape", func(b *builder) *onnx.Model {
			return b.model(b.node("Reshape", []string{"x", b.node("Div", []string{b.ints(4), b.ints(0)})}))
		}, []string{"(Div)", "division of 4 by 0"}},
		{"no image", func(b *builder) *onnx.Model {
			b.m.Graph.Inputs[0].Shape = b.m.Graph.Inputs[0].Shape[:2]
			return b.model(b.node("Relu", []string{"x"}))
		}, []string{"0 are images"}},
		{"two images", func(b *builder) *onnx.Model {
			in := b.m.Graph.Inputs[0]
			in.Name = "z"
			b.m.Graph.Inputs = append(b.m.Graph.Inputs, in)
			return b.end(b.node("Add", []string{"x", "z"}))
		}, []string{"2 are images"}},
		{"another input", func(b *builder) *onnx.Model {
			b.m.Graph.Inputs = append(b.m.Graph.Inputs, onnx.Value{Name: "z", Type: onnx.Float32})
			return b.end(b.node("Add", []string{"x", "z"}))
		}, []string{"(Add)"}},
		{"nothing from the image", func(b *builder) *onnx.Model {
			return b.model(b.node("Relu",
				[]string{b.floats(3)}))
		},
			[]string{"no output"}},
		{"nothing at all", func(b *builder) *onnx.Model { return b.end(b.node("Identity", []string{"x"})) },
			[]string{"Identity"}},
		{"too large an image", func(b *builder) *onnx.Model {
			for i := range b.m.Graph.Inputs[0].Shape {
				b.m.Graph.Inputs[0].Shape[i].Size = 1 << 20
			}
			return b.end(b.node("Relu", []string{"x"}))
		}, nil},
		{"sums of sums", func(b *builder) *onnx.Model {
			ends := []string{"x"}
			v := "x"
			for range 150 {
				v = b.node("Conv", []string{v, b.floats(3, 3, 1, 1)})
				ends = append(ends, v)
			}
			for i := len(ends) - 2; i >= 0; i-- {
				v = b.node("Add", []string{v, ends[i]})
			}
			return b.end(v)
		}, []string{"nested more than 100 deep"}},
	} {
		_, err := Import(c.make(newBuilder(image...)), Options{Trainable: true})
		if err == nil {
			if c.name != "nothing at all" {
				t.Errorf("%s: no error", c.name)
			}
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q lacks %q", c.name, err, w)
			}
		}
	}
}

// A cut names a tensor or a node; what is behind it may be anything.
func TestCut(t *testing.T) {
	b := newBuilder(0, 3, 8, 8)
	v := b.node("Relu", []string{b.node("Conv", []string{"x", b.floats(4, 3, 3, 3)})})
	m := b.end(b.node("Resize", []string{v}))
	for _, cut := range []string{"v1", "n1"} {
		net, err := Import(m, Options{Cut: cut})
		if err != nil {
			t.Fatal(err)
		}
		if got := kindsOf(net.Spec.Layers); got != "conv relu global_avg_pool" || len(net.Notes) != 1 {
			t.Errorf("cut %s: %s, %q", cut, got, net.Notes)
		}
	}
	for _, cut := range []string{"x", "nothing", "w0"} {
		if _, err := Import(m, Options{Cut: cut}); err == nil || !strings.Contains(err.Error(), "network.cut") {
			t.Errorf("cut %s: %v", cut, err)
		}
	}
}

// Networks that are convolutions to the end take images of another size, and
// transformers do with other position embeddings; others say what holds them.
func TestSizes(t *testing.T) {
	for name, want := range map[string]string{"residual": "", "next": "", "vit_fused": "", "dense": "3.weight"} {
		net, err := Read(filepath.Join("testdata", name+".onnx"), Options{Size: 48})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), "not of 48") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || net.Spec.Input != (nn.Shape{H: 48, W: 48, C: 3}) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		made, err := nn.New(net.Spec, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := made.SetState(net.Weights); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		notes := strings.Join(net.Notes, "\n")
		if strings.Contains(notes, "resampled") != (name == "vit_fused") {
			t.Errorf("%s: notes %s", name, notes)
		}
	}
}

// Whatever is done to the graph of a model, importing it ends with an error or a
// network that passes Check.
func FuzzImport(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.onnx"))
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	var models [][]byte
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		models = append(models, data)
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{byte(i), byte(7 * i), byte(3 * i), byte(i + 1), byte(5 * i), 9, byte(i + 2),
			byte(11 * i), 200})
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		m, err := onnx.Parse(bytes.Clone(models[int(which)%len(models)]))
		if err != nil {
			t.Fatal(err)
		}
		for len(edits) >= 3 && len(m.Graph.Nodes) > 0 {
			edit(m, edits[0], edits[1], edits[2])
			edits = edits[3:]
		}
		if m.Check() != nil {
			return
		}
		net, err := Import(m, Options{})
		if err != nil {
			return
		}
		if err := net.Spec.Check(); err != nil {
			t.Fatal(err)
		}
		if net.Spec.OutDim() < 1 {
			t.Fatal("no output")
		}
	})
}

// edit changes one thing about one node or initializer.
func edit(m *onnx.Model, what, which, value byte) {
	g := &m.Graph
	n := &g.Nodes[int(which)%len(g.Nodes)]
	other := &g.Nodes[int(value)%len(g.Nodes)]
	odd := []int64{0, 1, -1, 2, 3, 7, -2, 1 << 31, 1 << 62, -1 << 63, 100, 4, 64, 16, -100, 5}[value%16]
	switch what % 10 {
	case 0:
		n.Op = other.Op
	case 1:
		if len(n.Inputs) > 0 && len(other.Outputs) > 0 {
			n.Inputs[int(value)%len(n.Inputs)] = other.Outputs[0]
		}
	case 2:
		n.Attrs = other.Attrs
	case 3:
		for i := range n.Attrs {
			a := n.Attrs[i]
			a.Int, a.Float = odd, float32(odd)
			a.Ints = append([]int64{}, a.Ints...)
			if len(a.Ints) > 0 {
				a.Ints[int(what)%len(a.Ints)] = odd
			}
			n.Attrs[i] = a
		}
	case 4:
		if len(n.Inputs) > 0 {
			n.Inputs = n.Inputs[:len(n.Inputs)-1]
		}
	case 5:
		n.Inputs = append(append([]string{}, n.Inputs...), "")
	case 6:
		for i := range n.Attrs {
			if t := n.Attrs[i].Tensor; t != nil && t.Type == onnx.Int64 && len(t.Data) >= 8 {
				c := onnx.Ints(t.Name, t.Shape, make([]int64, len(t.Data)/8))
				copy(c.Data, t.Data)
				copy(c.Data[int(what)%len(t.Data)/8*8:], onnx.Ints("", nil, []int64{odd}).Data)
				n.Attrs[i].Tensor = &c
			}
		}
	case 7:
		if len(g.Initializers) > 0 {
			t := &g.Initializers[int(which)%len(g.Initializers)]
			if len(t.Shape) > 1 {
				t.Shape = append([]int64{t.Shape[0] * t.Shape[1]}, t.Shape[2:]...)
			} else {
				t.Shape = append(t.Shape, 1)
			}
		}
	case 8:
		if d := g.Inputs[0].Shape; len(d) > 0 {
			d[int(which)%len(d)].Size = odd
		}
	case 9:
		if len(n.Outputs) > 0 {
			g.Outputs = []onnx.Value{{Name: n.Outputs[0]}}
		}
	}
}
