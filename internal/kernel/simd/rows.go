package simd

import "fmt"

// The kernels of this file work on matrices whose rows of cols values follow
// each other: slices of one length, a multiple of cols. Vectors hold one value
// a column. For a kernel that does not tell columns apart cols may be anything
// that divides the length, such as the length. A result may be the same slice
// as an operand.

// rowsOf returns the number of rows of matrices of n values, and panics if other
// lengths disagree with it.
func rowsOf(n, cols int, mats []int, vecs ...int) int {
	for _, m := range mats {
		if m != n {
			panic(fmt.Sprintf("simd: matrices of %d and %d values", n, m))
		}
	}
	for _, v := range vecs {
		if v != cols {
			panic(fmt.Sprintf("simd: vector of %d values for %d columns", v, cols))
		}
	}
	if n == 0 {
		return 0
	}
	if cols <= 0 || n%cols != 0 {
		panic(fmt.Sprintf("simd: %d values in rows of %d", n, cols))
	}
	return n / cols
}
