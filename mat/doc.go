// Package mat holds float32 matrices and the dense operations that metric
// learning spends its time in: matrix products, row norms, pairwise
// similarities and squared distances, and exact top-k search in blocks.
package mat
