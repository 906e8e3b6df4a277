package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	gonum "gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/mat"
)

// SigClustConfig says how to test; the zero value is the default.
type SigClustConfig struct {
	// Draws is the number of samples drawn from the normal distribution to compare
	// with; default 99.
	Draws int
	// Restarts of the k-means of the rows and of every draw; default 4.
	Restarts int
	Seed     uint64
}

// Significance is the result of SigClust.
type Significance struct {
	// Index is the cluster index of the rows: the sum of squared distances to the
	// nearer of two centroids over that to the mean. It is between 0, two points,
	// and 1.
	Index float64
	// Mean and SD are the mean and standard deviation of the draws' indices. Z is
	// (Mean - Index) / SD, positive if the rows fall into two groups more clearly
	// than the draws.
	Mean, SD, Z float64
	// P is (1 + the number of draws whose index is at most that of the rows) /
	// (1 + the number of draws).
	P float64
}

// SigClust tests whether the rows of x (n x d) are one cloud or several: whether
// two centroids account for more of their spread than they would for a sample of
// n from the normal distribution with the covariance of the rows (Liu, Hayes,
// Nobel and Marron 2008, "Statistical significance of clustering for
// high-dimension, low-sample-size data"). The covariance is the sample's, which
// errs on the side of one cloud (Huang et al. 2015). A low P says that there are
// several clouds.
//
// Rows that are all equal are one cloud: an index of 1 and a P of 1. The work
// grows with Draws n^2 d; take some hundred rows of a larger set. The seed fixes
// the result to the bit. Fewer than 3 rows, a row that is not finite or negative
// settings are an error. It checks ctx as KMeans does.
func SigClust(ctx context.Context, x *mat.Dense, cfg SigClustConfig) (*Significance, error) {
	if x == nil || x.Rows < 3 {
		return nil, errors.New("a test for one cloud needs at least 3 rows")
	}
	if cfg.Draws < 0 || cfg.Restarts < 0 {
		return nil, fmt.Errorf("a test for one cloud with %d draws and %d restarts", cfg.Draws, cfg.Restarts)
	}
	if cfg.Draws == 0 {
		cfg.Draws = 99
	}
	if cfg.Restarts == 0 {
		cfg.Restarts = 4
	}
	if err := finite(x); err != nil {
		return nil, err
	}
	sd, err := deviations(x)
	if err != nil {
		return nil, err
	}
	if len(sd) == 0 {
		return &Significance{Index: 1, Mean: 1, P: 1}, nil
	}
	var s Significance
	if s.Index, err = clusterIndex(ctx, x, cfg, 0); err != nil {
		return nil, err
	}
	var sum, squares float64
	below := 0
	draw := mat.New(x.Rows, len(sd))
	for k := range cfg.Draws {
		// Stream 0 is k-means' of the rows.
		rng := rand.New(rand.NewPCG(cfg.Seed, uint64(k)+1))
		for i := range draw.Rows {
			row := draw.Row(i)
			for j := range row {
				row[j] = float32(rng.NormFloat64() * sd[j])
			}
		}
		c, err := clusterIndex(ctx, draw, cfg, uint64(k)+1)
		if err != nil {
			return nil, err
		}
		sum += c
		squares += c * c
		if c <= s.Index {
			below++
		}
	}
	n := float64(cfg.Draws)
	s.Mean = sum / n
	s.SD = math.Sqrt(max(squares/n-s.Mean*s.Mean, 0))
	if s.SD > 0 {
		s.Z = (s.Mean - s.Index) / s.SD
	}
	s.P = float64(1+below) / (1 + n)
	return &s, nil
}

// deviations are the standard deviations of the rows along their principal axes,
// the largest first, without those that are nothing but rounding.
func deviations(x *mat.Dense) ([]float64, error) {
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			mean[j] += float64(v) / float64(x.Rows)
		}
	}
	c := gonum.NewDense(x.Rows, x.Cols, nil)
	for i := range x.Rows {
		row := c.RawRowView(i)
		for j, v := range x.Row(i) {
			row[j] = float64(v) - mean[j]
		}
	}
	// X X' and X'X have the same eigenvalues beside zeros.
	var s gonum.SymDense
	if x.Rows < x.Cols {
		s.SymOuterK(1, c)
	} else {
		s.SymOuterK(1, c.T())
	}
	var e gonum.EigenSym
	if !e.Factorize(&s, false) {
		return nil, errors.New("a test for one cloud: the covariance of the rows has no eigenvalues")
	}
	values := e.Values(nil)
	var out []float64
	for k := len(values) - 1; k >= 0; k-- {
		if values[k] <= 1e-10*values[len(values)-1] || values[k] <= 0 {
			break
		}
		out = append(out, math.Sqrt(values[k]/float64(x.Rows-1)))
	}
	return out, nil
}

// clusterIndex is the part of the spread of x that two centroids leave.
func clusterIndex(ctx context.Context, x *mat.Dense, cfg SigClustConfig, stream uint64) (float64, error) {
	var inertia [2]float64
	for k := range inertia {
		r, err := KMeans(ctx, x, Config{K: k + 1, Restarts: cfg.Restarts, Seed: cfg.Seed<<16 ^ stream})
		if err != nil {
			return 0, err
		}
		inertia[k] = r.Inertia
	}
	if inertia[0] == 0 {
		return 1, nil
	}
	return inertia[1] / inertia[0], nil
}
