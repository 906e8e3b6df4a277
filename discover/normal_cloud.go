package discover

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/ward"
	"github.com/kindred-ml/kindred/matrix"
)

// cloud describes samples of one normal distribution that are divided like the rows.
type cloud struct {
	mean []float64 // mean silhouettes of the draws by number of groups
	// dim is the effective dimension of the rows: (sum of variances)^2 / sum of
	// their squares, along the principal axes.
	dim float64
}

const (
	// maxComparedRows is the largest number of rows that are compared with draws.
	maxComparedRows = 400
	// minSliceDimension is the effective dimension below which slices of one cloud are as compact as separate
	// clouds, so that BIC would divide without end. The silhouette then decides.
	minSliceDimension = 4
)

// newCloud compares rows with a cloud. It returns nil if there is nothing to divide.
func newCloud(ctx context.Context, y *matrix.Dense, opt Options, rng *rand.Rand) (*cloud, error) {
	if y.Rows < minClassRows {
		return nil, nil
	}
	if y.Rows > maxComparedRows {
		at := rng.Perm(y.Rows)[:maxComparedRows]
		slices.Sort(at)
		y = y.RowsAt(at)
	}
	c := centreRows(y)
	dim := effectiveDimension(c)
	if dim == 0 {
		return nil, nil // all rows are equal
	}
	most := opt.maxGroups(y.Rows)
	out := &cloud{mean: make([]float64, most+1), dim: dim}
	for range opt.Draws {
		if dim >= minSliceDimension {
			break // BIC decides
		}
		s, err := silhouetteCurve(ctx, drawNormalLike(c, rng), most)
		if err != nil {
			return nil, err
		}
		for k, v := range s {
			out.mean[k] += v / float64(opt.Draws)
		}
	}
	return out, nil
}

// drawNormalLike draws as many rows from a normal cloud with the covariance of centred rows, by combining these
// with normal weights.
func drawNormalLike(c *matrix.Dense, rng *rand.Rand) *matrix.Dense {
	weights, draw := matrix.New(c.Rows, c.Rows), matrix.New(c.Rows, c.Cols)
	for i := range weights.Data {
		weights.Data[i] = float32(rng.NormFloat64())
	}
	matrix.Gemm(false, false, float32(1/math.Sqrt(float64(c.Rows-1))), weights, c, 0, draw)
	return draw
}

// silhouetteCurve returns the silhouettes of the divisions of y.
func silhouetteCurve(ctx context.Context, y *matrix.Dense, most int) ([]float64, error) {
	d := ward.Squared(y)
	merges, err := ward.Tree(ctx, d)
	if err != nil {
		return nil, err
	}
	return silhouettes(ctx, distances(y), merges, most)
}

// chooseNumGroups returns the number of groups into which an agglomeration is cut.
func (c *cloud) chooseNumGroups(ctx context.Context, y *matrix.Dense, merges []ward.Merge, most int) (int, error) {
	if c.dim >= minSliceDimension {
		return bestByBIC(merges, y.Rows, most, c.dim), nil
	}
	most = min(most, len(c.mean)-1)
	s, err := silhouettes(ctx, distances(y), merges, most)
	if err != nil {
		return 0, err
	}
	best := 2
	for k := 2; k <= most; k++ {
		if s[k]-c.mean[k] > s[best]-c.mean[best] {
			best = k
		}
	}
	return best, nil
}

// bestByBIC returns the number of groups, at least 2, with the largest
//
//	-n p log(W / (n p)) - k (p + 1) log n
//
// W is the sum of squared distances from the groups' means, and p the effective dimension. This is Schwarz's
// criterion for k equal spherical clouds, as in X-means (Pelleg and Moore 2000).
func bestByBIC(merges []ward.Merge, n, most int, p float64) int {
	best, top := 2, math.Inf(-1)
	var within float64
	for i, m := range merges {
		if k := n - i; k <= most && k >= 2 {
			w := max(within/(float64(n)*p), math.SmallestNonzeroFloat64)
			score := -float64(n)*p*math.Log(w) - float64(k)*(p+1)*math.Log(float64(n))
			if score >= top { // from many groups to few
				best, top = k, score
			}
		}
		within += m.Height / 2
	}
	return best
}

// centreRows returns the rows less their mean.
func centreRows(x *matrix.Dense) *matrix.Dense {
	mean, _ := meanAndScatter(x)
	out := matrix.New(x.Rows, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			out.Row(i)[j] = float32(float64(v) - mean[j])
		}
	}
	return out
}

// effectiveDimension returns the effective dimension of centred rows, 0 if they are all equal. The sum of the
// eigenvalues is the trace of the matrix of products of the rows, and the sum of their squares is the sum of
// the squares of these products.
func effectiveDimension(c *matrix.Dense) float64 {
	g := matrix.New(c.Rows, c.Rows)
	matrix.Gemm(false, true, 1, c, c, 0, g)
	var trace, squares float64
	for i := range g.Rows {
		trace += float64(g.At(i, i))
		for _, v := range g.Row(i) {
			squares += float64(v) * float64(v)
		}
	}
	if squares == 0 {
		return 0
	}
	return trace * trace / squares
}

// distances returns the distances between all rows of x, n x n.
func distances(x *matrix.Dense) *matrix.Dense {
	d := ward.Squared(x)
	for i, v := range d.Data {
		d.Data[i] = float32(math.Sqrt(float64(v)))
	}
	return d
}
