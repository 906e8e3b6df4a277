package onnxnet

import (
	"slices"
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

// Channels stand last only where that place alone has one or three of them; an open side is
// the customary one.
func TestSides(t *testing.T) {
	for _, c := range []struct {
		shape [4]int64
		size  int
		want  []int
		first bool
	}{
		{[4]int64{1, 3, 64, 32}, 0, []int{1, 3, 64, 32}, true}, {[4]int64{0, 3, 0, 0}, 0, []int{1, 3, 224, 224}, true},
		{[4]int64{0, 3, 0, 0}, 96, []int{1, 3, 96, 96}, true}, {[4]int64{1, 1, 28, 28}, 0, []int{1, 1, 28, 28}, true},
		{[4]int64{1, 64, 32, 3}, 0, []int{1, 64, 32, 3}, false}, {[4]int64{1, 0, 0, 1}, 50, []int{1, 50, 50, 1}, false},
		{[4]int64{1, 3, 224, 3}, 0, []int{1, 3, 224, 3}, true}, {[4]int64{1, 64, 3, 3}, 0, []int{1, 64, 3, 3}, false},
		{[4]int64{1, 8, 64, 2}, 0, []int{1, 8, 64, 2}, true},
	} {
		v := &onnx.Value{}
		for _, n := range c.shape {
			v.Shape = append(v.Shape, onnx.Dim{Size: n})
		}
		if got, f := sides(v, c.size); !slices.Equal(got, c.want) || f.first != c.first {
			t.Errorf("%v at %d: %v, channels first %v, want %v and %v", c.shape, c.size, got, f.first, c.want, c.first)
		}
	}
}
