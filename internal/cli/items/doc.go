// Package items adds photos and embeddings to what holds items, an index or a store of a database,
// and finds the nearest of them to photos, to items and to embeddings.
package items
