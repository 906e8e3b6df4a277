package cli

import (
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/parquet"
)

// Map applies of to every entry of a list. It returns nil for an empty list.
func Map[S, T any](list []S, of func(S) T) (out []T) {
	for _, s := range list {
		out = append(out, of(s))
	}
	return out
}

// EmbeddingFormats returns the formats in which commands read and write embeddings.
func EmbeddingFormats() embedding.Formats { return embedding.Formats{parquet.Format{}} }
