// Package items adds photos and embeddings to an index or a store of a database, and prints the answers of searches.
package items
