package onnxnet

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
)

// TestAdvice: an end is proposed only where it works and leaves most of the network.
func TestAdvice(t *testing.T) {
	conv := func(b *builder, v string, in int64) string {
		return b.node("Relu", []string{b.node("Conv", []string{v, b.floats(4, in, 3, 3)})})
	}
	cut := regexp.MustCompile(`network\.cut "([^"]+)"`)
	for _, c := range []struct {
		name    string
		make    func(b *builder) *onnx.Model
		advised bool
	}{
		{"the second layer", func(b *builder) *onnx.Model {
			v := b.node("PRelu", []string{b.node("Conv", []string{"x", b.floats(4, 3, 3, 3)}), b.floats(4, 1, 1)})
			return b.end(conv(b, conv(b, v, 4), 4))
		}, false},
		{"every layer", func(b *builder) *onnx.Model {
			v := "x"
			for i := range 3 {
				in := int64(4)
				if i == 0 {
					in = 3
				}
				v = b.node("PRelu", []string{b.node("Conv", []string{v, b.floats(4, in, 3, 3)}), b.floats(4, 1, 1)})
			}
			return b.end(v)
		}, false},
		{"behind all layers", func(b *builder) *onnx.Model {
			return b.end(b.node("Resize", []string{conv(b, conv(b, "x", 3), 4)}))
		}, true},
		{"before the last of three", func(b *builder) *onnx.Model {
			v := b.node("Resize", []string{conv(b, conv(b, "x", 3), 4)})
			return b.end(b.node("Conv", []string{v, b.floats(4, 4, 1, 1)}))
		}, true},
		{"at the image", func(b *builder) *onnx.Model {
			return b.end(conv(b, b.node("Resize", []string{"x"}), 3))
		}, false},
	} {
		b := newBuilder(0, 3, 8, 8)
		m := c.make(b)
		_, err := Import(m, Options{Trainable: true})
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		found := cut.FindStringSubmatch(err.Error())
		if (found != nil) != c.advised || !c.advised && !strings.Contains(err.Error(), "take a model of the layers") {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if found != nil {
			if _, err := Import(m, Options{Cut: found[1]}); err != nil {
				t.Errorf("%s: what is advised does not work: %v", c.name, err)
			}
		}
	}
}
