// Package eval measures embeddings: how well they retrieve and how well they
// cluster. In: a matrix of embeddings with one or more columns of labels, and a
// list of metrics. Out: a Report with a value per metric and column, the number
// of queries it is based on and of those left out, per-class and per-query
// values on request, and a statement of how every clustering was made.
//
// Retrieval measures are functions of the ranks that package eval/rank finds;
// clusterings and their scores are in eval/cluster. docs/evaluation.md defines
// every measure and convention.
package eval
