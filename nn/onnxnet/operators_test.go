package onnxnet

import (
	"strings"
	"testing"
)

// A product along the width of an image is none along its channels, though both have as many
// values.
func TestProductsAlongTheWidth(t *testing.T) {
	for _, sides := range [][]int64{{1, 2, 1, 2}, {1, 3, 3, 3}, {1, 2, 2, 2}} {
		b := newBuilder(sides...)
		v := b.node("MatMul", []string{"x", b.floats(sides[3], 5)})
		_, err := Import(b.end(v), Options{})
		if err == nil || !strings.Contains(err.Error(), "inputs for an image of") {
			t.Errorf("%d: %v", sides, err)
		}
	}
}
