package qdrant_test

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/database/qdrant"
	"github.com/kindred-ml/kindred/store"
)

// An invalid address, or a vector that the engine cannot store, is an error before
// anything is asked of the database.
func ExampleCreate() {
	const url = "qdrant://127.0.0.1:6334"
	_, err := qdrant.Create(context.Background(), url, "photos", store.Config{Dim: 100_000, HNSW: true})
	fmt.Println(err)
	// Output:
	// vectors of 100000 numbers with the distance "euclidean": must be 1 to 65536 numbers, and euclidean, cosine or dot
}
