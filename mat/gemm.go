package mat

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/par"
)

// Gemm computes C = alpha op(A) op(B) + beta C, where op(X) is X or, if the
// matching flag is set, X transposed. With beta 0 the old content of C is not
// read. It panics if the shapes do not match. C must not overlap A or B.
func Gemm(transA, transB bool, alpha float32, a, b *Dense, beta float32, c *Dense) {
	m, k := a.Rows, a.Cols
	if transA {
		m, k = k, m
	}
	kb, n := b.Rows, b.Cols
	if transB {
		kb, n = n, kb
	}
	if k != kb || c.Rows != m || c.Cols != n {
		panic(fmt.Sprintf("mat: product of %d x %d and %d x %d into %d x %d", m, k, kb, n, c.Rows, c.Cols))
	}
	par.For(m, 8, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := c.Row(i)
			for j := range row {
				var s float32
				for p := range k {
					x, y := i, p
					if transA {
						x, y = p, i
					}
					u, v := p, j
					if transB {
						u, v = j, p
					}
					s += a.Data[x*a.Stride+y] * b.Data[u*b.Stride+v]
				}
				s *= alpha
				if beta != 0 {
					s += beta * row[j]
				}
				row[j] = s
			}
		}
	})
}
