// Package mat holds float32 matrices and the products that metric learning spends
// its time in: Gemm, matrix products of blocks that stay in the cache, and
// SquaredDistances between the rows of two matrices.
//
//	x := mat.Of(2, 3, []float32{1, 2, 3, 4, 5, 6}) // two rows of three numbers
//	s := mat.New(2, 2)
//	mat.Gemm(false, true, 1, x, x, 0, s) // s = x xᵀ, the similarities of the rows
//
// A Dense is rows of a slice; Row and RowRange are views that share its memory.
// Results are the same bits for any GOMAXPROCS. Shapes that do not fit are a
// mistake of the program and panic.
package mat
