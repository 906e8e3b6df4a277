package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// BenchmarkSearch searches 200,000 items of 128 numbers around a thousand centers: the first
// query after the index was opened, which compares checksums, and those that follow.
func BenchmarkSearch(b *testing.B) {
	const n, d = 200_000, 128
	rng := rand.New(rand.NewPCG(1, 2))
	centers := make([]float32, 1000*d)
	for i := range centers {
		centers[i] = float32(rng.NormFloat64())
	}
	near := func() []float32 {
		x, c := make([]float32, d), rng.IntN(1000)*d
		for j := range x {
			x[j] = centers[c+j] + 0.7*float32(rng.NormFloat64())
		}
		return x
	}
	e := make([]store.Item, n)
	for i := range e {
		e[i] = store.Item{ID: fmt.Sprintf("%06d", i), Vector: near()}
	}
	dir := filepath.Join(b.TempDir(), "x.index")
	x, err := Create(dir, Config{Dim: d})
	if err != nil {
		b.Fatal(err)
	}
	add(b, x, e, AddOptions{})
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
	queries := make([][]float32, 256)
	for i := range queries {
		queries[i] = near()
	}
	open := func() *Index {
		x, err := Open(dir, Options{ReadOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		return x
	}
	ask := func(x *Index, i int) {
		if _, err := x.Search(context.Background(), Query{Vector: queries[i%len(queries)]}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("open", func(b *testing.B) {
		for range b.N {
			if err := open().Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			x := open()
			b.StartTimer()
			ask(x, i)
			b.StopTimer()
			x.Close()
		}
	})
	b.Run("steady", func(b *testing.B) {
		x := open()
		defer x.Close()
		for i := range queries { // all blocks have been compared
			ask(x, i)
		}
		b.ResetTimer()
		for i := range b.N {
			ask(x, i)
		}
	})
}
