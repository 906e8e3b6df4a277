package embedding

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// TestUnsignedIntegersThatFit: up to the largest int64, and not one more.
func TestUnsignedIntegersThatFit(t *testing.T) {
	for v, ok := range map[uint64]bool{0: true, math.MaxInt64 - 1: true, math.MaxInt64: true, math.MaxInt64 + 1: false,
		math.MaxUint64: false} {
		got, err := integerValues(&safetensors.Tensor{Name: "y", DType: "U64", Shape: []int{1},
			Data: binary.LittleEndian.AppendUint64(nil, v)})
		if (err == nil) != ok || ok && !slices.Equal(got, []int64{int64(v)}) {
			t.Errorf("%d: %v, %v", v, got, err)
		}
	}
}
