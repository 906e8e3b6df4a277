package onnxnet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/nn"
)

// Queries, keys and values that are made into one layer keep their biases, whichever of
// them have one, and queries are multiplied by the factor.
func TestStacked(t *testing.T) {
	for which := range 8 {
		var from [3]*layer
		var bias []float32
		for i := range from {
			from[i] = &layer{Layer: nn.Layer{Kind: nn.Linear, Out: 2, NoBias: which>>i&1 == 0}}
			v := float32(i + 1)
			from[i].set("weight", []int{2, 1}, []float32{v, 10 * v})
			b := []float32{0, 0}
			if !from[i].NoBias {
				b = []float32{v / 2, v / 4}
				from[i].set("bias", []int{2}, b)
			}
			if i == 0 {
				b = []float32{3 * b[0], 3 * b[1]}
			}
			bias = append(bias, b[1], b[0])
		}
		made := stacked(from, [3][]int{{1, 0}, {1, 0}, {1, 0}}, 3)
		what := fmt.Sprintf("biases %03b", which)
		if w := made.param("weight"); made.Out != 6 || !slices.Equal(w.shape, []int{6, 1}) ||
			!slices.Equal(w.values, []float32{30, 3, 20, 2, 30, 3}) {
			t.Errorf("%s: weights %v of %v", what, w.values, w.shape)
		}
		b := made.param("bias")
		if made.NoBias != (which == 0) || (b == nil) != made.NoBias || b != nil && !slices.Equal(b.values, bias) {
			t.Errorf("%s: without: %v, %+v, want %v", what, made.NoBias, b, bias)
		}
	}
}
