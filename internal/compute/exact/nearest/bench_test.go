package nearest

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/internal/compute/exact"
)

// BenchmarkCosines looks for the ten nearest of 50,000 rows of 128 coordinates to 64 queries.
func BenchmarkCosines(b *testing.B) {
	const n, d = 50_000, 128
	rng := rand.New(rand.NewPCG(1, 2))
	x, q := random(rng, n, d, 0), random(rng, 64, d, 0)
	parts := []Part{{X: x, Codes: Encode(exact.Cosine, x, d)}}
	allowed := [][]uint64{allRows(n)}
	for b.Loop() {
		queries := make([]*Query, 64)
		for i := range queries {
			queries[i] = &Query{X: q[i*d : (i+1)*d], K: 10, Allowed: allowed}
		}
		if err := Search(b.Context(), exact.Cosine, d, parts, queries, byRow); err != nil {
			b.Fatal(err)
		}
	}
}
