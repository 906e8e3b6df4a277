package onnxnet

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/spatial"
	"github.com/kindred-ml/kindred/nn"
)

// A product along the width of an image is none along its channels, though both have as many
// values.
func TestProductsAlongTheWidth(t *testing.T) {
	for _, sides := range [][]int64{{1, 2, 1, 2}, {1, 3, 3, 3}, {1, 2, 2, 2}} {
		b := newBuilder(sides...)
		v := b.node("MatMul", []string{"x", b.floats(sides[3], 5)})
		_, err := Import(b.end(v), Options{Trainable: true})
		if err == nil || !strings.Contains(err.Error(), "inputs for an image of") {
			t.Errorf("%d: %v", sides, err)
		}
	}
}

// A layer has its window's padding and that of a Pad before it: the same more at the bottom as on
// the right, and, where it is a pool, the same at the top as on the left.
func TestGeometry(t *testing.T) {
	bit := func(k, i int) int { return k >> i & 1 }
	for k := range 1 << 13 {
		w := &spatial.Window{In: make([]int, 2), Out: []int{1, 1}, Kernel: []int{2, 2 + bit(k, 0)}, Stride: []int{1, 1},
			Before: []int{bit(k, 1), bit(k, 2)}, After: []int{bit(k, 3), bit(k, 4)}}
		rounded := [2]int{bit(k, 5), bit(k, 6)} // by ceil_mode
		for i := range w.In {
			w.In[i] = w.Kernel[i] - w.Before[i] - w.After[i] - rounded[i]
		}
		f := imageLayout{pad: [4]int{2 * bit(k, 7), 2 * bit(k, 8), 2 * bit(k, 9), 2 * bit(k, 10)}}
		l := &layer{Layer: nn.Layer{Kind: []nn.Kind{nn.Conv, nn.MaxPool, nn.AvgPool}[(k>>11)%3]}}
		top, left := w.Before[0]+f.pad[0], w.Before[1]+f.pad[1]
		more := [2]int{w.After[0] + f.pad[2] + rounded[0] - top, w.After[1] + f.pad[3] + rounded[1] - left}
		square := w.Kernel[0] == w.Kernel[1] && top == left
		fits := more[0] == more[1] && more[0] >= 0 && (square || l.Kind == nn.Conv)
		want := nn.Layer{Kind: l.Kind, Kernel: 2, Pad: top, PadEnd: more[0]}
		if !square {
			want.KernelW, want.PadW = w.Kernel[1], left
		}
		err := func() (err error) {
			defer operator.Catch(&err)
			geometry(l, w, f)
			return nil
		}()
		if (err == nil) != fits || fits && (l.Kernel != want.Kernel || l.Pad != want.Pad || l.PadEnd != want.PadEnd ||
			l.KernelW != want.KernelW || l.PadW != want.PadW) {
			t.Fatalf("%s of %+v behind pads of %d: %+v, %v", l.Kind, w, f.pad, l.Layer, err)
		}
	}
}
