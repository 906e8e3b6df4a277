package projection

import (
	"context"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
)

func TestLongFunctionsStop(t *testing.T) {
	x := drawBlobs(300, 5, 3, 1)
	run := func(c TSNE) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.Run(ctx, x)
			return err
		}
	}
	pca := func(ctx context.Context) error {
		_, err := PCA(ctx, x, 3)
		return err
	}
	for _, c := range []struct {
		name    string
		atLeast int
		compute func(ctx context.Context) error
	}{
		{"PCA", 2, pca},
		{"exact t-SNE", 50 * 10, run(TSNE{Method: Exact, Iterations: 50})},
		{"t-SNE by a field", 50, run(TSNE{Method: Field, Iterations: 50})},
		{"Divergence", 10 + 2*30, func(ctx context.Context) error {
			y := make([]float64, x.Rows)
			for i := range y {
				y[i] = float64(i)
			}
			_, err := Divergence(ctx, x, y, y, 20)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ctxtest.CheckStops(t, c.atLeast, c.compute) })
	}
}

// A map wide enough for the grid looks at the context between its transforms.
func TestFieldRepulsionStops(t *testing.T) {
	y := randomPoints(200, 30, 1)
	r := &fieldRepulsion{}
	for at, want := range []error{context.Canceled, context.Canceled, nil} {
		if _, err := r.repel(ctxtest.NewCountdown(at), y, make(points, len(y))); err != want {
			t.Errorf("cancelled after %d looks: error %v, want %v", at, err, want)
		}
	}
}
