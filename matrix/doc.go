// Package matrix holds float32 matrices and the products that take most of the time in
// metric learning: Gemm, matrix products of blocks that stay in the cache, and
// SquaredDistances between the rows of two matrices.
//
//	x := FromSlice(2, 3, []float32{1, 2, 3, 4, 5, 6}) // two rows of three numbers
//	s := New(2, 2)
//	Gemm(false, true, 1, x, x, 0, s) // s = x xᵀ, the similarities of the rows
//
// A Dense holds its rows in one slice; Row and RowRange are views that share its
// memory. Results are the same bits for any GOMAXPROCS. Shapes that do not match
// are a programming mistake and panic.
package matrix
