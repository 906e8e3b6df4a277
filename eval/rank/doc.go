// Package rank finds the ranks of every query's positives in its ranking of a
// gallery. In: embeddings of queries and gallery, one or more columns of
// labels, a distance. Out: for every query and column the number of positives R
// and their ranks, 1 for the nearest item. Every retrieval measure (Recall@k,
// MAP@R, MRR, ...) is a function of these ranks and R; package eval has them.
//
// The ranking of a query orders the gallery by distance, ties by the lowest
// index. When queries and gallery are the same set, a query's own row is not
// part of its ranking: it is left out by its index, so that a duplicate of the
// query counts but the query itself never does.
//
// Distances are compared as float64 functions of the float32 coordinates.
package rank
