package matrix

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Gemm computes C = alpha op(A) op(B) + beta C, where op(X) is X or, if the
// matching flag is set, X transposed. With beta 0 the old content of C is not
// read. It panics if the shapes do not match. C must not overlap A or B.
//
// An inner dimension of 0 gives beta C. The result does not depend on
// GOMAXPROCS. Buffers are kept between calls, so that repeated products of one
// size do not allocate.
func Gemm(transA, transB bool, alpha float32, a, b *Dense, beta float32, c *Dense) {
	_ = gemm(context.Background(), transA, transB, alpha, a, b, beta, c) // it is never done
}

// GemmContext is Gemm, to the same bits, with a context. It checks ctx before each block of
// the inner dimension (2048 of it, times up to a million values of B, four on Intel) and, once
// ctx is done, returns ctx.Err() with C incomplete. It is for products of more than some 1e10
// multiply-adds.
func GemmContext(ctx context.Context, transA, transB bool, alpha float32, a, b *Dense, beta float32, c *Dense) error {
	return gemm(ctx, transA, transB, alpha, a, b, beta, c)
}

func gemm(ctx context.Context, transA, transB bool, alpha float32, a, b *Dense, beta float32, c *Dense) error {
	m, k := a.Rows, a.Cols
	if transA {
		m, k = k, m
	}
	kb, n := b.Rows, b.Cols
	if transB {
		kb, n = n, kb
	}
	if k != kb || c.Rows != m || c.Cols != n {
		panic(fmt.Sprintf("matrix: product of %d x %d and %d x %d into %d x %d", m, k, kb, n, c.Rows, c.Cols))
	}
	if beta != 0 && beta != 1 {
		scaleRows(c, beta)
	}
	if k == 0 {
		if beta == 0 {
			for i := range m {
				clear(c.Row(i))
			}
		}
		return nil
	}
	p := productPool.Get().(*product)
	p.m, p.n, p.k = m, n, k
	p.a, p.b = newOperand(a, transA), newOperand(b, transB)
	p.c, p.ldc = c.Data, c.Stride
	p.alpha, p.add = alpha, beta != 0
	p.shift, p.rowAdd, p.clamp, p.singleBlock = nil, nil, false, false
	p.ctx = ctx
	err := p.run()
	p.release()
	return err
}

func (p *product) release() {
	p.ctx = nil
	p.a, p.b, p.c, p.shift, p.rowAdd = operand{}, operand{}, nil, nil, nil
	productPool.Put(p)
}

func scaleRows(c *Dense, by float32) {
	par.For(c.Rows, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := c.Row(i)
			for j := range row {
				row[j] *= by
			}
		}
	})
}
