// Package items adds photos and embeddings to what holds items, an index or a store of a database, and lays out what
// was found in it.
package items
