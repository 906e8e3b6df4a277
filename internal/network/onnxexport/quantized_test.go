package onnxexport

import (
	"math"
	"testing"

	"github.com/kindred-ml/kindred/nn"
)

// A bias that is far larger than its channel's products fits, and a channel of zeros.
func TestFiltersOfOddChannels(t *testing.T) {
	s := &nn.ByteSum{In: nn.ByteScale{Unit: 0.01, Zero: 3}, Q: []int8{127, -5, 127, 64, 0, 0, 1, -127},
		Unit: []float64{-1e-4, 1e-12, 0, 0}, Offset: []float64{0.5, -7, 3, 0}}
	f := filtersOf(s)
	for k, unit := range f.unit {
		if !(unit > 0) {
			t.Errorf("channel %d has the unit %g", k, unit)
		}
		own := float64(unit) * float64(float32(s.In.Unit))
		if d := math.Abs(float64(f.bias[k])*own - s.Offset[k]); d > own {
			t.Errorf("channel %d: bias %d is off by %g", k, f.bias[k], d)
		}
		for i := 2 * k; i < 2*k+2; i++ {
			want := float64(s.Q[i]) * s.Unit[k]
			most := max(1e-6*math.Abs(want), 0.51*math.Abs(s.Offset[k])/maxBias)
			if d := math.Abs(float64(f.q[i])*own - want); d > most {
				t.Errorf("channel %d: weight %d is off by %g", k, f.q[i], d)
			}
		}
	}
}
