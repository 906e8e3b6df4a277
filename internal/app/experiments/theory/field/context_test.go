package field

import (
	"context"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

func TestLongFunctionsStop(t *testing.T) {
	ctxtest.CheckStops(t, 40, func(ctx context.Context) error {
		_, err := Map(ctx, FirstOrder(), Config{Gamma: 0.5}, 0, 40)
		return err
	})
	e := matrix.New(200, 2)
	labels, anchors := make([]int64, e.Rows), make([]int, e.Rows)
	for i := range labels {
		labels[i], anchors[i] = int64(i%4), i
		e.Row(i)[0], e.Row(i)[1] = 1, float32(i)
	}
	ctxtest.CheckStops(t, 200/8, func(ctx context.Context) error {
		_, err := Nearest(ctx, e, labels, anchors)
		return err
	})
}
