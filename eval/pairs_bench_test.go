package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// BenchmarkCompare counts all pairs of rows of 128 coordinates, 20 of a class:
// KINDRED_BENCH_FULL=1 those of 60,000, 1.8 billion.
func BenchmarkCompare(b *testing.B) {
	n := 6000
	if os.Getenv("KINDRED_BENCH_FULL") != "" {
		n = 60000
	}
	s := randomSet(rand.New(rand.NewPCG(1, 1)), n, 128, n/20, false)
	s.X = NormalizeRows(s.X)
	b.Run(fmt.Sprintf("%dx128", n), func(b *testing.B) {
		for b.Loop() {
			if _, err := ComparePairs(context.Background(), s, nil, CompareOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(float64(n)*float64(n-1)/2), "ns/pair")
	})
}
