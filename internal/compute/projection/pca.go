package projection

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/matrix"
)

// Components is the result of a principal component analysis.
type Components struct {
	// Scores holds the rows' coordinates along the components, n x k.
	Scores *matrix.Dense
	// Explained[j] is the share of the total variance along component j.
	Explained []float64
}

// PCA projects the n x d matrix x, centred, on its k directions of largest
// variance. The components come from orthogonal iteration on the smaller of the
// d x d covariance and the n x n Gram matrix, from a fixed start, until they
// are stable to 1e-9 of the largest variance. The sign of each component is
// chosen so that its score of largest magnitude is positive.
//
// If all rows are equal, all scores are 0. A score beyond float32 becomes the largest float32. A k beyond the rank
// gives columns of 0. It returns an error for no rows, values that are not finite and k < 1, and ctx.Err(),
// wrapped, once ctx is done. It checks ctx before each block of the matrix and each iteration.
func PCA(ctx context.Context, x *matrix.Dense, k int) (*Components, error) {
	if err := checkRows(x); err != nil {
		return nil, err
	}
	if k < 1 {
		return nil, fmt.Errorf("%d principal components: must be at least 1", k)
	}
	out, err := computePCA(ctx, x, k)
	if err != nil {
		return nil, fmt.Errorf("the principal components of %d rows: %w", x.Rows, err)
	}
	return out, nil
}

// computePCA is PCA without checks. Its only error is that of ctx.
func computePCA(ctx context.Context, x *matrix.Dense, k int) (*Components, error) {
	c, scale := centreColumns(x)
	n, d := x.Rows, x.Cols
	out := &Components{Scores: matrix.New(n, k), Explained: make([]float64, k)}
	var g *matrix.Dense
	if d <= n {
		g = matrix.New(d, d)
	} else {
		g = matrix.New(n, n)
	}
	if err := matrix.GemmContext(ctx, d <= n, d > n, 1, c, c, 0, g); err != nil {
		return nil, err
	}
	total := 0.0
	for i := range g.Rows {
		total += float64(g.At(i, i))
	}
	if total == 0 {
		return out, nil
	}
	values, vectors, err := leadingEigenvectors(ctx, g, min(k, g.Rows))
	if err != nil {
		return nil, err
	}
	scores := make([]float64, n)
	for j, lambda := range values {
		if lambda <= 1e-7*values[0] { // below float32's rounding of g
			continue
		}
		out.Explained[j] = min(lambda/total, 1)
		if d <= n {
			for i := range n {
				s := 0.0
				for t, v := range c.Row(i) {
					s += float64(v) * vectors.At(t, j)
				}
				scores[i] = s
			}
		} else {
			for i := range n {
				scores[i] = vectors.At(i, j) * math.Sqrt(lambda)
			}
		}
		top := 0
		for i, s := range scores {
			if math.Abs(s) > math.Abs(scores[top])*(1+1e-6) {
				top = i
			}
		}
		sign := scale
		if scores[top] < 0 {
			sign = -scale
		}
		for i, s := range scores {
			out.Scores.Row(i)[j] = float32(min(max(sign*s, -math.MaxFloat32), math.MaxFloat32))
		}
	}
	return out, nil
}

// leadingEigenvectors returns the k largest eigenvalues of the symmetric positive
// semi-definite matrix g with their eigenvectors as columns.
func leadingEigenvectors(ctx context.Context, g *matrix.Dense, k int) ([]float64, *gonum.Dense, error) {
	m := g.Rows
	b := min(m, k+8) // the guard vectors speed up convergence of the first k
	a := gonum.NewDense(m, m, nil)
	for i := range m {
		for j, v := range g.Row(i) {
			a.Set(i, j, float64(v))
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(m)))
	v := gonum.NewDense(m, b, nil)
	for i := range m {
		for j := range b {
			v.Set(i, j, rng.NormFloat64())
		}
	}
	orthonormalise(v)
	values := make([]float64, b)
	var w, small, rotated gonum.Dense
	for range 500 {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		// Rayleigh-Ritz: the eigenvectors of V'AV turn the basis into the
		// best approximations within its span.
		w.Mul(a, v)
		small.Mul(v.T(), &w)
		sym := gonum.NewSymDense(b, nil)
		for i := range b {
			for j := i; j < b; j++ {
				sym.SetSym(i, j, (small.At(i, j)+small.At(j, i))/2)
			}
		}
		var eig gonum.EigenSym
		if !eig.Factorize(sym, true) {
			break // cannot happen for finite input; the basis so far is valid
		}
		lambda := eig.Values(nil) // ascending
		var q gonum.Dense
		eig.VectorsTo(&q)
		flip := gonum.NewDense(b, b, nil)
		for j := range b {
			for i := range b {
				flip.Set(i, j, q.At(i, b-1-j))
			}
		}
		rotated.Mul(v, flip)
		w.Mul(&w, flip)
		residual := 0.0
		for j := range b {
			values[j] = lambda[b-1-j]
			if j >= k {
				continue
			}
			r := 0.0
			for i := range m {
				e := w.At(i, j) - values[j]*rotated.At(i, j)
				r += e * e
			}
			residual = max(residual, math.Sqrt(r))
		}
		v.Copy(&rotated)
		if residual <= 1e-9*math.Abs(values[0]) {
			break
		}
		v.Copy(&w)
		orthonormalise(v)
	}
	if !sort.IsSorted(sort.Reverse(sort.Float64Slice(values))) {
		sort.Sort(sort.Reverse(sort.Float64Slice(values)))
	}
	return values[:k], v, nil
}

// orthonormalise applies Gram-Schmidt twice to the columns of v.
func orthonormalise(v *gonum.Dense) {
	m, b := v.Dims()
	for j := range b {
		for range 2 {
			for p := range j {
				dot := 0.0
				for i := range m {
					dot += v.At(i, p) * v.At(i, j)
				}
				for i := range m {
					v.Set(i, j, v.At(i, j)-dot*v.At(i, p))
				}
			}
		}
		norm := 0.0
		for i := range m {
			norm += v.At(i, j) * v.At(i, j)
		}
		norm = math.Sqrt(norm)
		for i := range m {
			if norm > 1e-300 {
				v.Set(i, j, v.At(i, j)/norm)
			} else {
				v.Set(i, j, 0)
			}
		}
	}
}
