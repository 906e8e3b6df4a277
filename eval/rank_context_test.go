package eval

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

func TestRankingStops(t *testing.T) {
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
			return RankPositives(ctx, set, nil, RankOptions{}, func(RankedQuery) {})
		},
		"Positives in parts, with a gallery": func(ctx context.Context) error {
			return RankPositives(ctx, set, &set, RankOptions{Memory: 1 << 16, FirstOnly: true}, func(RankedQuery) {})
		},
		"Positives by heads": func(ctx context.Context) error {
			return RankPositives(ctx, set, nil, RankOptions{Depth: 45, Memory: 1 << 20}, func(RankedQuery) {})
		},
		"Nearest": func(ctx context.Context) error {
			_, err := Nearest(ctx, x, nil, 5, RankOptions{})
			return err
		},
		"Nearest in parts, by cosine": func(ctx context.Context) error {
			_, err := Nearest(ctx, x, x, 5, RankOptions{Distance: Cosine, Memory: 1 << 16})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { ctxtest.CheckStops(t, 90, compute) })
	}
}
