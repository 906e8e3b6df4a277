package objective

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/matrix"
)

// gaussian returns standard normal embeddings with labels 0..classes-1 in turn.
func gaussian(n, d, classes int, seed uint64) (*matrix.Dense, []int64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	e := matrix.New(n, d)
	for k := range e.Data {
		e.Data[k] = float32(rng.NormFloat64())
	}
	labels := make([]int64, n)
	for i := range labels {
		labels[i] = int64(i % classes)
	}
	return e, labels
}

// benchOptions are the objectives of the timed cases triplet-, margin- and ms-.
func benchOptions() map[string]func() Options {
	return map[string]func() Options{
		"triplet": func() Options {
			return Options{Normalize: true, Mine: MiningConfig{Negatives: SemiHardNegative}, Loss: loss.Triplet{}}
		},
		"margin": func() Options {
			return Options{Normalize: true, Mine: MiningConfig{Negatives: DistanceNegative}, Loss: &loss.Margin{}}
		},
		"ms": func() Options {
			return Options{Normalize: true, Loss: loss.MultiSimilarity{},
				Mine: MiningConfig{Positives: MultiSimilarityPositives, Negatives: MultiSimilarityNegatives}}
		},
	}
}

// BenchmarkStep times mining, loss and gradient of whole batches. It allocates
// nothing per step.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"triplet", "margin", "ms"} {
		for _, s := range [][3]int{{128, 128, 16}, {512, 128, 64}, {2048, 512, 256}} {
			b.Run(fmt.Sprintf("%s-n%d-d%d", name, s[0], s[1]), func(b *testing.B) {
				e, labels := gaussian(s[0], s[1], s[2], 1)
				obj, err := New(benchOptions()[name]())
				if err != nil {
					b.Fatal(err)
				}
				grad := matrix.New(s[0], s[1])
				step := func() {
					if _, err := obj.Step(context.Background(), e, Batch{Labels: labels}, grad); err != nil {
						b.Fatal(err)
					}
				}
				step()
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					step()
				}
			})
		}
	}
}
