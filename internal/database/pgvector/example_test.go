package pgvector_test

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/database/pgvector"
	"github.com/kindred-ml/kindred/store"
)

// An invalid address, or a vector that the engine cannot store, is an error before
// anything is asked of the database.
func ExampleCreate() {
	const url = "postgres://127.0.0.1/shop"
	_, err := pgvector.Create(context.Background(), url, "photos", store.Config{Dim: 100_000, HNSW: true})
	fmt.Println(err)
	// Output:
	// vectors of 100000 numbers with the distance "euclidean": must be 1 to 2000 numbers, and euclidean, cosine or dot
}
