package onnxnet

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// Errors of models stay short, whatever these hold, and on one line.
func TestErrorsAreShort(t *testing.T) {
	sides := slices.Repeat([]int64{1}, 10_000)
	long := strings.Repeat("n\x1b[2J", 1<<20)
	for name, make := range map[string]func(b *builder) *onnx.Model{
		"a tensor of many sides": func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.floats(sides...)}))
		},
		"a shape of many sides": func(b *builder) *onnx.Model {
			return b.end(b.node("Reshape", []string{"x", b.ints(append(sides, 192)...)}))
		},
		"many pads": func(b *builder) *onnx.Model {
			return b.end(b.node("Conv", []string{"x", b.floats(4, 3, 3, 3)}, "dilations", sides))
		},
		"many axes": func(b *builder) *onnx.Model {
			return b.end(b.node("ReduceMean", []string{"x"}, "axes", append(sides, 99)))
		},
		"a long operator": func(b *builder) *onnx.Model { return b.end(b.node(long, []string{"x"})) },
		"a long name": func(b *builder) *onnx.Model {
			v := b.node("Resize", []string{"x"})
			b.m.Graph.Nodes[0].Name = long
			return b.end(v)
		},
		"a long tensor": func(b *builder) *onnx.Model {
			v := b.node("Conv", []string{"x", b.floats(4, 3, 3)})
			b.m.Graph.Initializers[0].Name, b.m.Graph.Nodes[0].Inputs[1] = long, long
			return b.end(v)
		},
		"an input of many sides": func(b *builder) *onnx.Model {
			b.m.Graph.Inputs[0].Shape = slices.Repeat([]onnx.Dim{{Name: "side"}}, 10_000)
			return b.end(b.node("Relu", []string{"x"}))
		},
	} {
		m := make(newBuilder(0, 3, 8, 8))
		_, err := Import(m, Options{})
		if err == nil || len(err.Error()) > 5000 || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %.300v", name, err)
			continue
		}
		if err := m.Check(); err != nil && len(err.Error()) > 5000 {
			t.Errorf("%s, checked: %d bytes", name, len(err.Error()))
		}
	}
}
