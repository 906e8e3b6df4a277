package onnx

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// small is a model of every part that is written.
func small() *Model {
	weights := Floats("w", []int64{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	value := Ints("", []int64{2}, []int64{-1, 3})
	return &Model{
		IRVersion: 7, Producer: "test", ProducerVersion: "1", Domain: "d", Version: 3, Doc: "a model",
		Opsets: []Opset{{"", 13}, {"ai.onnx.ml", 2}},
		Meta:   []Entry{{"pixels", "symmetric"}},
		Graph: Graph{
			Name: "g", Doc: "a graph",
			Inputs:       []Value{{"x", Float32, []Dim{{Name: "batch"}, {Size: 3}, {}}}},
			Outputs:      []Value{{"y", Float32, nil}, {"z", Float32, []Dim{}}},
			Values:       []Value{{Name: "c", Type: Int64, Shape: []Dim{{Size: 2}}}},
			Initializers: []Tensor{weights},
			Nodes: []Node{
				{Name: "n1", Op: "Constant", Outputs: []string{"c"},
					Attrs: []Attr{{Name: "value", Type: AttrTensor, Tensor: &value}}},
				{Op: "Odd", Domain: "com.example", Inputs: []string{"x", "", "w", "c"}, Outputs: []string{"y", "", "z"},
					Attrs: []Attr{
						{Name: "f", Type: AttrFloat, Float: -0.5}, {Name: "i", Type: AttrInt, Int: -7},
						{Name: "s", Type: AttrString, String: "é"},
						{Name: "fs", Type: AttrFloats, Floats: []float32{1, 2}},
						{Name: "is", Type: AttrInts, Ints: []int64{-1, 0, 1 << 40}},
						{Name: "ss", Type: AttrStrings, Strings: []string{"a", ""}}, {Name: "zero", Type: AttrInt},
					}},
			},
		},
	}
}

func encode(t *testing.T, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := small()
	data := encode(t, want)
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nwritten\n%+v", got, want)
	}
	if again := encode(t, got); !bytes.Equal(again, data) {
		t.Error("what was read is written as other bytes")
	}
	if v := got.Opset(); v != 13 {
		t.Errorf("opset %d", v)
	}
}

// message builds a message from fields by number; values are uint64, string,
// []byte (a message), float32 or []any of these for repeated ones.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		n := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
		case float32:
			b = protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32Type), math.Float32bits(v))
		case float64:
			b = protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), math.Float64bits(v))
		}
	}
	return b
}

// model wraps the fields of a graph: one node "n" makes "y" of "x".
func model(fields ...any) []byte {
	node := message(1, "x", 2, "y", 3, "n", 4, "Relu")
	graph := append(message(1, node, 11, message(1, "x"), 12, message(1, "y")), message(fields...)...)
	return message(1, 7, 7, graph, 8, message(2, 13))
}

func packed(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

func words(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Every type in every field that the format allows for it.
func TestTensors(t *testing.T) {
	for _, c := range []struct {
		name   string
		fields []any
		want   []float64
	}{
		{"float, raw", []any{1, 2, 2, 1, 9, words(1, -2)}, []float64{1, -2}},
		{"float, packed", []any{1, packed(2), 2, 1, 4, words(1, -2)}, []float64{1, -2}},
		{"float, one by one", []any{1, 2, 2, 1, 4, float32(1), 4, float32(-2)}, []float64{1, -2}},
		{"float, in two pieces", []any{1, 3, 2, 1, 4, words(1, -2), 4, float32(5)}, []float64{1, -2, 5}},
		{"double", []any{1, 2, 2, 11, 10, 0.1, 10, 2.0}, []float64{0.1, 2}},
		{"int64", []any{1, 3, 2, 7, 7, packed(1, -2, 1<<40)}, []float64{1, -2, 1 << 40}},
		{"int64, one by one", []any{1, 2, 2, 7, 7, 5, 7, -6}, []float64{5, -6}},
		{"int32", []any{1, 2, 2, 6, 5, packed(-3, 70000)}, []float64{-3, 70000}},
		{"int16", []any{1, 2, 2, 5, 5, packed(-3, 700)}, []float64{-3, 700}},
		{"int8", []any{1, 2, 2, 3, 5, packed(-3, 100)}, []float64{-3, 100}},
		{"uint8, raw", []any{1, 2, 2, 2, 9, []byte{200, 3}}, []float64{200, 3}},
		{"uint16", []any{1, 1, 2, 4, 5, packed(65535)}, []float64{65535}},
		{"bool", []any{1, 2, 2, 9, 5, packed(0, 1)}, []float64{0, 1}},
		{"half", []any{1, 3, 2, 10, 5, packed(0x3c00, 0xc000, 1)}, []float64{1, -2, 1.0 / (1 << 24)}},
		{"bfloat16", []any{1, 2, 2, 16, 5, packed(0x3f80, 0xc000)}, []float64{1, -2}},
		{"uint32", []any{1, 1, 2, 12, 11, packed(1 << 31)}, []float64{1 << 31}},
		{"uint64", []any{1, 1, 2, 13, 11, packed(1 << 50)}, []float64{1 << 50}},
		{"a single number", []any{2, 1, 9, words(3)}, []float64{3}},
		{"nothing", []any{1, 0, 2, 1}, []float64{}},
	} {
		m, err := Parse(model(5, message(append([]any{8, "t"}, c.fields...)...)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := m.Graph.Initializers[0].float64s()
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

// Nodes may come in any order; they are sorted, and those that need not move stay.
func TestNodesAreSorted(t *testing.T) {
	m := &Model{Graph: Graph{
		Inputs: []Value{{Name: "x"}}, Outputs: []Value{{Name: "c"}},
		Nodes: []Node{
			{Op: "C", Inputs: []string{"b", "a"}, Outputs: []string{"c"}},
			{Op: "A", Inputs: []string{"x"}, Outputs: []string{"a"}},
			{Op: "B", Inputs: []string{"a"}, Outputs: []string{"b"}},
		},
	}}
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), `node of "c" (C): input "b" is neither`) {
		t.Errorf("out of order: %v", err)
	}
	if err := m.Graph.sort(); err != nil {
		t.Fatal(err)
	}
	var order string
	for _, n := range m.Graph.Nodes {
		order += n.Op
	}
	if order != "ABC" || m.Check() != nil {
		t.Errorf("order %s, %v", order, m.Check())
	}
}

// An attribute of a type that is not decoded, such as a subgraph, is written as
// it came; its type tells it.
func TestSubgraphsAreKept(t *testing.T) {
	sub := message(1, "then_branch", 6, message(2, "inner"), 20, 5)
	node := message(1, "x", 2, "z", 4, "If", 5, sub)
	m, err := Parse(model(1, node))
	if err != nil {
		t.Fatal(err)
	}
	if a := m.Graph.Nodes[1].Attr("then_branch"); a == nil || a.Type != AttrGraph {
		t.Fatalf("attribute %+v", a)
	}
	if data := encode(t, m); !bytes.Contains(data, sub) {
		t.Error("the subgraph is lost")
	}
}

// A function's nodes stand in the place of its call: with the call's names, with its attributes or
// the function's defaults, in graphs of control flow too.
func TestFunctionsAreInlined(t *testing.T) {
	ref := func(name, of string, typ int) []byte { return message(1, name, 21, of, 20, typ) }
	branch := message(1, message(1, "a", 2, "q", 4, "Neg"), 12, message(1, "q"))
	f := message(1, "f", 10, "own", 4, "a", 4, "missing", 5, "b", 5, "a",
		7, message(1, "a", 1, "missing", 2, "t", 4, "Clip", 5, ref("axis", "k", 2), 5, ref("other", "none", 2),
			5, ref("alpha", "slope", 1)),
		7, message(1, "t", 2, "b", 4, "If", 5, message(1, "then_branch", 6, branch)),
		11, message(1, "slope", 2, float32(0.25)))
	m, err := Parse(append(model(1, message(1, "x", 2, "z", 2, "same", 4, "f", 7, "own", 5, message(1, "k", 3, 7))),
		message(25, f)...))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Graph.Nodes) != 4 {
		t.Fatalf("nodes %+v", m.Graph.Nodes)
	}
	clip, cond, same := m.Graph.Nodes[1], m.Graph.Nodes[2], m.Graph.Nodes[3]
	if clip.Op != "Clip" || !slices.Equal(clip.Inputs, []string{"x", ""}) || clip.Attr("axis").Int != 7 ||
		clip.Attr("other") != nil || clip.Attr("alpha").Float != 0.25 {
		t.Errorf("clip %+v", clip)
	}
	inner := cond.Attr("then_branch").Graph
	if !slices.Equal(cond.Inputs, clip.Outputs) || cond.Outputs[0] != "z" || inner.Nodes[0].Inputs[0] != "x" ||
		inner.Nodes[0].Outputs[0] != inner.Outputs[0].Name || inner.Outputs[0].Name == "q" {
		t.Errorf("if %+v with %+v", cond, inner)
	}
	if same.Op != "Identity" || same.Inputs[0] != "x" || same.Outputs[0] != "same" {
		t.Errorf("an input that is returned: %+v", same)
	}
}

// Old files do not say of which type an attribute is.
func TestAttributesWithoutType(t *testing.T) {
	m, err := Parse(model(1, message(1, "x", 2, "z", 4, "Op", 5, message(1, "i", 3, 4),
		5, message(1, "fs", 7, words(1, 2)), 5, message(1, "s", 4, "q"))))
	if err != nil {
		t.Fatal(err)
	}
	n := m.Graph.Nodes[1]
	if a := n.Attr("i"); a.Type != AttrInt || a.Int != 4 {
		t.Errorf("%+v", a)
	}
	if a := n.Attr("fs"); a.Type != AttrFloats || len(a.Floats) != 2 {
		t.Errorf("%+v", a)
	}
	if a := n.Attr("s"); a.Type != AttrString || a.String != "q" || n.Attr("none") != nil {
		t.Errorf("%+v", a)
	}
}

func TestNamesInMessages(t *testing.T) {
	for want, n := range map[string]Node{
		`node "a" (Conv)`:              {Name: "a", Op: "Conv", Outputs: []string{"o"}},
		`node of "o" (Conv)`:           {Op: "Conv", Domain: "ai.onnx", Outputs: []string{"o"}},
		`node "a" (com.x.Conv)`:        {Name: "a", Op: "Conv", Domain: "com.x"},
		`a node without a name (Relu)`: {Op: "Relu"},
	} {
		if got := n.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	v := Value{Name: "x", Type: Float32, Shape: []Dim{{Name: "batch"}, {Size: 3}, {}}}
	if got := v.String(); got != "FLOAT [batch, 3, ?]" {
		t.Error(got)
	}
	if got := (&Value{Type: DataType(99)}).String(); got != "type 99 of unknown shape" {
		t.Error(got)
	}
}

// float64s returns the values as float64, of any type that Size knows; integers
// above 2^53 are rounded, true is 1.
func (t *Tensor) float64s() ([]float64, error) {
	if !t.Type.IsFloat() {
		ints, err := t.Int64s()
		if err != nil {
			return nil, err
		}
		out := make([]float64, len(ints))
		for i, v := range ints {
			out[i] = float64(v)
		}
		return out, nil
	}
	if t.Type == Float64 {
		out := make([]float64, len(t.Data)/8)
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:]))
		}
		return out, nil
	}
	v, err := t.Float32s()
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out, err
}
