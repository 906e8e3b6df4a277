package eval

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

func TestLongFunctionsStop(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := matrix.New(400, 4)
	labels := make([]int64, x.Rows)
	for i := range labels {
		labels[i] = int64(rng.IntN(60))
		for j := range x.Row(i) {
			x.Row(i)[j] = rng.Float32()
		}
	}
	set := Set{X: x, Labels: [][]int64{labels}}
	evaluate := func(metrics string, cfg Config) func(ctx context.Context) error {
		var err error
		if cfg.Metrics, err = ParseMetrics(metrics); err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := Evaluate(ctx, set, nil, cfg)
			return err
		}
	}
	for _, c := range []struct {
		name    string
		atLeast int
		compute func(ctx context.Context) error
	}{
		{"ranking", 70, evaluate("map,ndcg", Config{})},
		{"bootstrap", 2 * 500, evaluate("recall@1", Config{Bootstrap: 500})},
		{"worst", 70, evaluate("recall@1", Config{NumWorst: 20})},
		{"nmi", 60, evaluate("nmi", Config{})},
		{"nmi+3 by cosine", 150, evaluate("nmi+3", Config{Distance: Cosine})},
		{"ami of given clusters", 20, evaluate("ami", Config{Assignments: shuffled(rng, labels)})},
		{"all", 2*100 + 60, evaluate("recall@1,map@r,nmi,ami", Config{Bootstrap: 100, NumWorst: 3})},
		{"RecallAt", 50, func(ctx context.Context) error {
			_, err := RecallAt(ctx, x, labels, Euclidean, 1)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ctxtest.CheckStops(t, c.atLeast, c.compute) })
	}
}

func shuffled(rng *rand.Rand, labels []int64) []int64 {
	out := append([]int64(nil), labels...)
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
