// Package store is the interface between programs that serve or search embedded
// items and the engine that holds them: an index folder of this module, or a vector
// database.
//
//	items with vectors -> Put -> Search(vector, k, filter) -> the nearest items
//
// An Item has an id, a vector and, optionally, the path of its picture and columns
// of text, numbers and truth values. All items of a Store have the same length of
// vector and the same distance, which Info returns. Package serve puts a Store
// behind HTTP. A program written for a Store works with every engine.
//
// The errors that callers act upon have types of their own, such as NotFoundError;
// every other error is a failure of the engine.
package store
