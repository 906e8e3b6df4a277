package eval

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// BenchmarkFull ranks 60,502 rows of 512 dimensions, query = gallery, for
// Recall@1..1000 and MAP@R: the size of Stanford Online Products' test split. Set
// KINDRED_BENCH_FULL to run it.
func BenchmarkFull(b *testing.B) {
	if os.Getenv("KINDRED_BENCH_FULL") == "" {
		b.Skip("set KINDRED_BENCH_FULL")
	}
	const n, d, classes = 60502, 512, 11316
	for _, noise := range []struct {
		name string
		size float32
	}{{"random", 1e9}, {"hard", 4}, {"easy", 1}} {
		b.Run(noise.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			centres := matrix.New(classes, d)
			for i := range centres.Data {
				centres.Data[i] = float32(rng.NormFloat64())
			}
			x := matrix.New(n, d)
			y := make([]int64, n)
			for i := range n {
				y[i] = int64(rng.IntN(classes))
				c := centres.Row(int(y[i]))
				for j := range d {
					x.Row(i)[j] = c[j] + noise.size*float32(rng.NormFloat64())
				}
			}
			b.ResetTimer()
			for range b.N {
				found := 0
				err := RankPositives(context.Background(), Set{x, [][]int64{y}}, nil, RankOptions{Depth: 1000},
					func(q RankedQuery) {
						if len(q.Ranks) > 0 && q.Ranks[0] == 1 {
							found++
						}
					})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(found)/n, "recall@1")
			}
		})
	}
}
