package eval

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// BenchmarkCosine ranks and searches 8,000 rows of 128 coordinates by cosine.
func BenchmarkCosine(b *testing.B) {
	const n, d, classes = 8000, 128, 1600
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := matrix.New(n, d), make([]int64, n)
	centres := matrix.New(classes, d)
	for i := range centres.Data {
		centres.Data[i] = float32(rng.NormFloat64())
	}
	for i := range n {
		y[i] = int64(i % classes)
		for j, v := range centres.Row(i % classes) {
			x.Row(i)[j] = v + 2*float32(rng.NormFloat64())
		}
	}
	b.Run("positives", func(b *testing.B) {
		for b.Loop() {
			opt := RankOptions{Distance: Cosine, Depth: 1000}
			if err := RankPositives(b.Context(), Set{x, [][]int64{y}}, nil, opt, func(RankedQuery) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("nearest9", func(b *testing.B) {
		for b.Loop() {
			if _, err := Nearest(b.Context(), x, nil, 9, RankOptions{Distance: Cosine}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("between", func(b *testing.B) {
		between := DistanceFunc(x, x, Cosine)
		var sum float64
		for b.Loop() {
			for i := range 500 {
				for j := range 500 {
					sum += between(i, j)
				}
			}
		}
	})
}

// BenchmarkParallel ranks 2,000 rows of 128 coordinates all of one direction, or of ten.
func BenchmarkParallel(b *testing.B) {
	const n, d = 2000, 128
	for name, directions := range map[string]int{"one": 1, "ten": 10} {
		rng := rand.New(rand.NewPCG(3, 4))
		x, y := matrix.New(n, d), make([]int64, n)
		along := matrix.New(directions, d)
		for i := range along.Data {
			along.Data[i] = float32(rng.NormFloat64())
		}
		for i := range n {
			y[i] = int64(i % 100)
			f := float32(int(1) << rng.IntN(9))
			for j, v := range along.Row(i % directions) {
				x.Row(i)[j] = f * v
			}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				opt := RankOptions{Distance: Cosine}
				if err := RankPositives(b.Context(), Set{x, [][]int64{y}}, nil, opt, func(RankedQuery) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
