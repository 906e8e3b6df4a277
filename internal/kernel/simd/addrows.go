package simd

import "fmt"

// AddRows adds c[k] times row idx[k] of x to y, for all k in order: what as many
// calls of Axpy do, to the bit, while y stays in registers. Rows are stride apart
// and have the length of y. It panics if a row ends beyond x, or idx and c differ in
// length.
func AddRows(y, c []float32, idx []int32, x []float32, stride int) {
	if len(idx) != len(c) {
		panic(fmt.Sprintf("simd: %d rows with %d factors", len(idx), len(c)))
	}
	if len(idx) == 0 || len(y) == 0 {
		return
	}
	last := uint32(0) // of negative ones far beyond
	for _, i := range idx {
		last = max(last, uint32(i))
	}
	if stride < 0 || int(last)*stride+len(y) > len(x) {
		panic(fmt.Sprintf("simd: row %d of %d values, %d apart, in %d", int32(last), len(y), stride, len(x)))
	}
	from := 0
	for _, vecs := range [2]int{8, 1} {
		for w := vecs * addRowsLanes(); w > 0 && from+w <= len(y); from += w {
			addRows(vecs, &y[from], &x[from], 4*stride, &idx[0], &c[0], len(idx))
		}
	}
	if from == len(y) {
		return
	}
	for k, i := range idx {
		Axpy(c[k], x[int(i)*stride+from:int(i)*stride+len(y)], y[from:])
	}
}
