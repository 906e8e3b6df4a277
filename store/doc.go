// Package store is the contract between what serves or searches embedded items and
// the engine that holds them: an index folder of this module, or a vector database.
//
//	items with vectors -> Put -> Search(vector, k, filter) -> the nearest items
//
// An Item has an id, a vector and, if it likes, the path of its picture and columns
// of text, numbers and truth values. A Store holds items of one length of vector
// and one distance, which Info tells. Package serve puts a Store behind HTTP;
// what is written against a Store works with every engine.
//
// Errors that callers act upon are those of errors.go; everything else is a failure
// of the engine.
package store
