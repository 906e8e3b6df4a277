package field

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// Scatter is a set of triplets on the scatter diagram.
type Scatter struct {
	Anchor, Positive, Negative []int // rows of the embeddings
	AP, AN                     []float64
	// Gamma[k] is NaN where the triplet has none (see the function Gamma).
	Gamma []float64
}

// Nearest finds, for each of the given anchors (rows of e), the most similar
// positive and the most similar negative by cosine, and where they lie on the
// scatter diagram. Anchors without a positive or a negative are left out. Ties
// go to the lowest row. A row of e that is not finite is an error; one of norm
// 0 has similarity 0 to all.
// It looks at ctx before each few anchors and returns ctx.Err(), wrapped, once
// that is done.
//
// It panics if labels and rows do not match in number.
func Nearest(ctx context.Context, e *matrix.Dense, labels []int64, anchors []int) (Scatter, error) {
	if len(labels) != e.Rows {
		panic(fmt.Sprintf("field: %d labels for %d rows", len(labels), e.Rows))
	}
	x, err := unitRows(e)
	if err != nil {
		return Scatter{}, err
	}
	type found struct{ p, n int }
	best := make([]found, len(anchors))
	err = par.ForContext(ctx, len(anchors), 8, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			a := anchors[k]
			b := found{-1, -1}
			var sp, sn float64
			for j, row := range x {
				if j == a {
					continue
				}
				s := inner(x[a], row)
				if labels[j] == labels[a] {
					if b.p < 0 || s > sp {
						b.p, sp = j, s
					}
				} else if b.n < 0 || s > sn {
					b.n, sn = j, s
				}
			}
			best[k] = b
		}
	})
	if err != nil {
		return Scatter{}, fmt.Errorf("the nearest of %d rows for %d anchors: %w", e.Rows, len(anchors), err)
	}
	var s Scatter
	for k, b := range best {
		if b.p >= 0 && b.n >= 0 {
			s.Anchor, s.Positive, s.Negative = append(s.Anchor, anchors[k]), append(s.Positive, b.p),
				append(s.Negative, b.n)
		}
	}
	s.place(x)
	return s, nil
}

// At returns the same triplets as they lie in other embeddings of the same
// samples. It panics if e has fewer rows than a triplet names.
func (s Scatter) At(e *matrix.Dense) (Scatter, error) {
	x, err := unitRows(e)
	if err != nil {
		return Scatter{}, err
	}
	s.place(x)
	return s, nil
}

// place fills in similarities and angles.
func (s *Scatter) place(x [][]float64) {
	n := len(s.Anchor)
	s.AP, s.AN, s.Gamma = make([]float64, n), make([]float64, n), make([]float64, n)
	for k, a := range s.Anchor {
		p, q := s.Positive[k], s.Negative[k]
		s.AP[k], s.AN[k] = inner(x[a], x[p]), inner(x[a], x[q])
		g, err := Gamma(s.AP[k], s.AN[k], inner(x[p], x[q]))
		if err != nil {
			g = math.NaN()
		}
		s.Gamma[k] = g
	}
}

// MeanGamma returns the mean angle factor of the triplets that have one, or 0.
func (s Scatter) MeanGamma() float64 {
	sum, n := 0.0, 0
	for _, g := range s.Gamma {
		if !math.IsNaN(g) {
			sum += g
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// CorrectShare returns the share of triplets with S_ap > S_an, NaN for none.
func (s Scatter) CorrectShare() float64 {
	n := 0
	for k := range s.AP {
		if s.AP[k] > s.AN[k] {
			n++
		}
	}
	return float64(n) / float64(len(s.AP))
}

// Agreement is the mean cosine between how triplets moved and how a field says
// a step moves them, each with its own gamma. Triplets that did not move, or
// that the field does not move, are left out; used counts the rest.
func Agreement(before, after Scatter, l Loss, c Config) (cosine float64, used int) {
	for k := range before.AP {
		if math.IsNaN(before.Gamma[k]) {
			continue
		}
		c.Gamma = before.Gamma[k]
		u, v := Change(l, c, before.AP[k], before.AN[k])
		x, y := after.AP[k]-before.AP[k], after.AN[k]-before.AN[k]
		if d := math.Hypot(u, v) * math.Hypot(x, y); d > 1e-18 {
			cosine += (u*x + v*y) / d
			used++
		}
	}
	return cosine / float64(max(used, 1)), used
}

// unitRows returns the rows in double precision divided by their norms.
func unitRows(e *matrix.Dense) ([][]float64, error) {
	x := make([][]float64, e.Rows)
	flat := make([]float64, e.Rows*e.Cols)
	for i := range x {
		x[i] = flat[i*e.Cols : (i+1)*e.Cols]
		var s float64
		for j, v := range e.Row(i) {
			x[i][j] = float64(v)
			s += float64(v) * float64(v)
		}
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("embedding %d is not finite", i)
		}
		if s > 0 {
			k := 1 / math.Sqrt(s)
			for j := range x[i] {
				x[i][j] *= k
			}
		}
	}
	return x, nil
}

func inner(a, b []float64) float64 {
	var s0, s1 float64
	k := 0
	for ; k+1 < len(a); k += 2 {
		s0 += a[k] * b[k]
		s1 += a[k+1] * b[k+1]
	}
	if k < len(a) {
		s0 += a[k] * b[k]
	}
	return s0 + s1
}
