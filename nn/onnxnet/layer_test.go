package onnxnet

import (
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
)

// A layer is named as its weights are, without the part that says which of them; one whose
// only weight has no name of its own takes all of it; torch's numbers are no names.
func TestNames(t *testing.T) {
	one, two, bare := []param{{name: "weight"}}, []param{{name: "weight"}, {name: "bias"}}, []param{{}}
	n := &namer{taken: map[string]bool{}}
	for _, c := range []struct {
		hint   string
		params []param
		node   string
		want   string
	}{
		{"a.conv.weight", one, "", "a.conv"}, {"a.conv.weight", two, "", "a.conv_2"},
		{"b.conv.bias", two, "", "b.conv"}, {"c.gamma", two, "", "c"},
		// A weight that is the layer keeps its end.
		{"d.weight", bare, "", "d.weight"}, {"token", bare, "", "token"},
		// What has no such end says nothing of a layer of more.
		{"token", one, "", "dense"}, {"token", two, "/e/e.1/fc/MatMul", "e.1.fc"},
		{"onnx::Conv_12", bare, "", "dense_2"}, {"onnx::Conv_12.weight", two, "/f/Conv", "f"},
		{"g/x:y z\tü.weight", one, "", "g.x.y.z__"}, {"", one, "", "dense_3"},
	} {
		l := &layer{params: c.params, hint: c.hint}
		l.Kind = nn.Dense
		if c.node != "" {
			l.from = &node{Node: &onnx.Node{Name: c.node}}
		}
		if got := n.name(l); got != c.want {
			t.Errorf("%q with %d weights: %q, want %q", c.hint, len(c.params), got, c.want)
		}
	}
}
