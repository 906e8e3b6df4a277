package projection

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// Divergence returns the Kullback-Leibler divergence KL(P || Q) of any map of x's rows, with P over all pairs at
// the given perplexity and Q exact, so that maps made in different ways can be compared. Time grows with n^2,
// memory does not. It returns the errors of TSNE.Run, an error for a map of a different length, and ctx.Err(),
// wrapped, once ctx is done. It checks ctx every few rows.
func Divergence(ctx context.Context, x *matrix.Dense, mapX, mapY []float64, perplexity float64) (float64, error) {
	if err := checkRows(x); err != nil {
		return 0, err
	}
	n := x.Rows
	if len(mapX) != n || len(mapY) != n {
		return 0, fmt.Errorf("the map has %d x and %d y coordinates, but there are %d rows", len(mapX),
			len(mapY), n)
	}
	if n == 1 {
		return 0, nil
	}
	if !(perplexity >= 1 && perplexity < float64(n)) {
		return 0, fmt.Errorf("perplexity %g with %d rows", perplexity, n)
	}
	y := make(points, 2*n)
	for i := range n {
		y[2*i], y[2*i+1] = mapX[i], mapY[i]
	}
	kl, err := divergence(ctx, x, y, perplexity)
	if err != nil {
		return 0, fmt.Errorf("the divergence of a map of %d rows: %w", n, err)
	}
	return kl, nil
}

// divergence is Divergence without checks. Its only error is that of ctx.
func divergence(ctx context.Context, x *matrix.Dense, y points, perplexity float64) (float64, error) {
	n := x.Rows
	z, err := normaliser(ctx, y)
	if err != nil {
		return 0, err
	}
	beta, logZ := make([]float64, n), make([]float64, n)
	err = visitPairDistances(ctx, x, func(i int, d []float64) {
		others := append(append(make([]float64, 0, n), d[:i]...), d[i+1:]...)
		beta[i], logZ[i] = bandwidth(others, perplexity, make([]float64, n-1))
	})
	if err != nil {
		return 0, err
	}
	partial := make([]float64, n)
	err = visitPairDistances(ctx, x, func(i int, d []float64) {
		s := 0.0
		for j, v := range d {
			p := (math.Exp(-beta[i]*v-logZ[i]) + math.Exp(-beta[j]*v-logZ[j])) / (2 * float64(n))
			if j != i && p > 0 {
				dx, dy := y[2*i]-y[2*j], y[2*i+1]-y[2*j+1]
				s += p * math.Log(p*z*(1+dx*dx+dy*dy))
			}
		}
		partial[i] = s
	})
	return sum(partial), err
}

// visitPairDistances calls visit with every row's squared distances to all rows. Its
// only error is that of ctx.
func visitPairDistances(ctx context.Context, x *matrix.Dense, visit func(i int, d []float64)) error {
	c, scale := centreColumns(x)
	n := x.Rows
	sq := make([]float64, n)
	for i := range n {
		for _, v := range c.Row(i) {
			sq[i] += float64(v) * float64(v)
		}
	}
	const block = 128
	products := matrix.New(min(block, n), n)
	for lo := 0; lo < n; lo += block {
		rows := c.RowRange(lo, min(lo+block, n))
		s := products.RowRange(0, rows.Rows)
		matrix.Gemm(false, true, 1, rows, c, 0, s)
		err := par.ForContext(ctx, rows.Rows, 8, func(a, b int) {
			d := make([]float64, n)
			for r := a; r < b; r++ {
				for j, p := range s.Row(r) {
					d[j] = max(0, sq[lo+r]+sq[j]-2*float64(p)) * scale * scale
				}
				visit(lo+r, d)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
