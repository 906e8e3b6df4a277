package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/store"
)

// What is written against a Store works with an index folder, as here, and with a
// database: pgvector.Open, weaviate.Open and qdrant.Open return one as well.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// lamp 1
	// another length: the vector has 3 numbers, but the store's vectors have 2
}

func example(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	x, err := index.Create(filepath.Join(dir, "things"), index.Config{Dim: 2})
	if err != nil {
		return err
	}
	defer x.Close()
	s := store.WithRetries(x.Store(false), time.Minute)
	err = s.Put(ctx, []store.Item{
		{ID: "chair", Vector: []float32{0, 0}, Columns: map[string]any{"price": 50.0}},
		{ID: "lamp", Vector: []float32{1, 0}, Columns: map[string]any{"price": 20.0}},
	}, store.Insert)
	if err != nil {
		return err
	}
	hits, err := s.Search(ctx, store.Query{Vector: []float32{0, 0}, K: 10, Filter: "price < 30"})
	if err != nil {
		return err
	}
	for _, h := range hits {
		fmt.Println(h.ID, h.Distance)
	}
	err = s.Put(ctx, []store.Item{{ID: "table", Vector: []float32{1, 2, 3}}}, store.Replace)
	fmt.Println("another length:", err)
	return nil
}
