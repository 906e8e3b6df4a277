package onnxnet

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// tower is a model of three tokens: the sum of the tokens' rows of a table, those of masked tokens left
// out, and of the rows of their positions.
func tower(ids onnx.DataType, tokens int64, others ...string) *onnx.Model {
	table := []float32{0, 1, 2, 3, 4, 5, 6, 7}
	side := onnx.Dim{Size: tokens}
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{
		Inputs: []onnx.Value{{Name: "input_ids", Type: ids, Shape: []onnx.Dim{{Name: "batch"}, side}}},
		Initializers: []onnx.Tensor{onnx.Floats("table", []int64{4, 2}, table),
			onnx.Ints("axis", []int64{1}, []int64{1}), onnx.Ints("last", []int64{1}, []int64{-1})},
		Nodes: []onnx.Node{{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"rows"}}},
		Outputs: []onnx.Value{{Name: "last_hidden_state", Type: onnx.Float32},
			{Name: "text_embeds", Type: onnx.Float32}},
	}}
	g := &m.Graph
	at := "rows"
	for _, name := range others {
		g.Inputs = append(g.Inputs, onnx.Value{Name: name, Type: onnx.Int64, Shape: []onnx.Dim{{Name: "batch"}, side}})
		if strings.Contains(name, "mask") {
			g.Nodes = append(g.Nodes, onnx.Node{Op: "Cast", Inputs: []string{name}, Outputs: []string{"m"},
				Attrs: []onnx.Attr{{Name: "to", Type: onnx.AttrInt, Int: 1}}},
				onnx.Node{Op: "Unsqueeze", Inputs: []string{"m", "last"}, Outputs: []string{"mask"}},
				onnx.Node{Op: "Mul", Inputs: []string{at, "mask"}, Outputs: []string{"masked"}})
			at = "masked"
			continue
		}
		g.Nodes = append(g.Nodes,
			onnx.Node{Op: "Gather", Inputs: []string{"table", name}, Outputs: []string{"of " + name}},
			onnx.Node{Op: "Add", Inputs: []string{at, "of " + name}, Outputs: []string{"with " + name}})
		at = "with " + name
	}
	g.Nodes = append(g.Nodes, onnx.Node{Op: "Identity", Inputs: []string{at}, Outputs: []string{"last_hidden_state"}},
		onnx.Node{Op: "ReduceSum", Inputs: []string{at, "axis"}, Outputs: []string{"text_embeds"},
			Attrs: []onnx.Attr{{Name: "keepdims", Type: onnx.AttrInt}}})
	return m
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		others []string
		want   []float32
	}{
		{nil, []float32{8, 11}}, // rows 1, 0 and 3
		{[]string{"attention_mask"}, []float32{8, 11}},
		{[]string{"attention_mask", "position_ids"}, []float32{14, 20}},
		{[]string{"token_type_ids"}, []float32{8, 14}},
	} {
		for _, typ := range []onnx.DataType{onnx.Int64, onnx.Int32} {
			m, err := newTokens(tower(typ, 3, c.others...), 3)
			if err != nil {
				t.Errorf("%v: %v", c.others, err)
				continue
			}
			got, err := m.Embed([]int32{1, 0, 3})
			if err != nil || m.Dim() != 2 || !slices.Equal(got, c.want) {
				t.Errorf("%v: %v, want %v; error %v", c.others, got, c.want, err)
			}
		}
	}
	m, err := newTokens(tower(onnx.Int64, 0), 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed([]int32{1, 0, 4}); err == nil || !strings.Contains(err.Error(), "index 4 lies outside") {
		t.Errorf("a token that the table lacks: %v", err)
	}
	if _, err := m.Embed([]int32{1}); err == nil {
		t.Error("too few tokens")
	}
}

func TestWrongTokens(t *testing.T) {
	picture := newBuilder(0, 3, 8, 8)
	none := tower(onnx.Int64, 3)
	none.Graph.Outputs = none.Graph.Outputs[:1]
	float := tower(onnx.Float32, 3)
	for want, m := range map[string]*onnx.Model{
		"no input of tokens": picture.end(picture.node("Relu", []string{"x"})),
		"takes 5 tokens":     tower(onnx.Int64, 5),
		"not one vector":     none,
		"input_ids":          float,
	} {
		if _, err := newTokens(m, 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := newTokens(tower(onnx.Int64, 0), math.MaxInt32); err == nil {
		t.Error("2^31 tokens")
	}
}
