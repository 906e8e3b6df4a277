package matrix

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func TestGemmContextHasTheBitsOfGemm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	a, b := New(4100, 37), New(4100, 53) // an inner dimension of three blocks
	for _, m := range []*Dense{a, b} {
		for i := range m.Data {
			m.Data[i] = rng.Float32()
		}
	}
	want, got := New(37, 53), New(37, 53)
	Gemm(true, false, 0.5, a, b, 0, want)
	if err := GemmContext(t.Context(), true, false, 0.5, a, b, 0, got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Data, want.Data) {
		t.Error("other bits than Gemm")
	}
	ctxtest.CheckStops(t, 3, func(ctx context.Context) error {
		if err := GemmContext(ctx, true, false, 1, a, b, 0, got); err != nil {
			return fmt.Errorf("a product: %w", err)
		}
		return nil
	})
	// A context that is done leaves nothing behind in the buffers that are kept.
	Gemm(true, false, 0.5, a, b, 0, got)
	if !slices.Equal(got.Data, want.Data) {
		t.Error("other bits after a product that was cut short")
	}
}
