package rank

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

func TestLongFunctionsStop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := matrix.New(1500, 6)
	labels := make([]int64, x.Rows)
	for i := range labels {
		labels[i] = int64(i % 30)
		for j := range x.Row(i) {
			x.Row(i)[j] = rng.Float32()
		}
	}
	set := Set{X: x, Labels: [][]int64{labels}}
	for name, compute := range map[string]func(ctx context.Context) error{
		"Positives": func(ctx context.Context) error {
			return Positives(ctx, set, nil, Options{}, func(Query) {})
		},
		"Positives in parts, with a gallery": func(ctx context.Context) error {
			return Positives(ctx, set, &set, Options{Memory: 1 << 16, First: true}, func(Query) {})
		},
		"Positives by heads": func(ctx context.Context) error {
			return Positives(ctx, set, nil, Options{Depth: 45, Memory: 1 << 20}, func(Query) {})
		},
		"Nearest": func(ctx context.Context) error {
			_, err := Nearest(ctx, x, nil, 5, Options{})
			return err
		},
		"Nearest in parts, by cosine": func(ctx context.Context) error {
			_, err := Nearest(ctx, x, x, 5, Options{Distance: Cosine, Memory: 1 << 16})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { ctxtest.CheckStops(t, 90, compute) })
	}
}
