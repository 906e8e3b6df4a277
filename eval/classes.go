package eval

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/matrix"
)

// ClassDiagnosis is the diagnosis of one class. Its distances are not relative to the spread.
type ClassDiagnosis struct {
	Label int64  `json:"label"`
	Name  string `json:"name,omitempty"`
	Size  int    `json:"size"`
	// Diameter is the largest distance between two of its rows. In a class larger than PerClass it
	// is computed from PerClass rows drawn at random.
	Diameter float64 `json:"diameter"`
	// Intra is the root mean square distance between two of its rows; 0 for a class of one row.
	// Other is the root mean square distance between its rows and those of Nearest, the class for
	// which that is smallest.
	Intra           float64 `json:"intra"`
	NearestDistance float64 `json:"other"`
	NearestClass    int64   `json:"nearest"`
	// Compactness is Intra / Other; left out for a class of one row, and if Other is 0.
	Compactness *float64 `json:"compactness,omitempty"`
	// SubClasses is the number of sub-classes that package discover finds in the class: 1 if it is not
	// divided, and 0 (unknown) for fewer than 10 rows. P is as in discover.ClassVerdict.
	SubClasses int     `json:"kinds"`
	P          float64 `json:"p"`
	// Spectrum is the spectrum of the class's rows.
	Spectrum DiagnosisSpectrum `json:"spectrum"`
	// Recall is Recall@1 of its queries, by its label.
	Recall float64 `json:"recall"`
}

// classes measures every class.
func (s *sample) classes(ctx context.Context) ([]ClassDiagnosis, error) {
	out := make([]ClassDiagnosis, len(s.order))
	centres := matrix.New(len(s.order), s.x.Cols) // relative to the mean and the spread
	variance := make([]float64, len(s.order))     // in squares of the spread
	err := par.ForContext(ctx, len(s.order), 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			y := s.order[c]
			rows := s.members[y]
			mean, v := classMoments(s.x, rows)
			for j, m := range mean {
				centres.Row(c)[j] = float32((m - s.mean[j]) / s.spread)
			}
			variance[c] = v / (s.spread * s.spread)
			out[c] = ClassDiagnosis{Label: y, Name: s.names[y], Size: len(rows)}
			if n := float64(len(rows)); n > 1 {
				out[c].Intra = safeSqrt(2 * v * n / (n - 1))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := s.findNearestClasses(ctx, out, centres, variance); err != nil {
		return nil, err
	}
	failed := make([]error, len(s.order))
	err = par.ForContext(ctx, len(s.order), 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			k := &out[c]
			rows := s.draw(s.members[k.Label], s.opt.PerClass, uint64(c)<<8|1)
			x := copyRows(s.x, rows, s.mean, 1/s.spread)
			k.Diameter = slices.Max(classDistances(x)) * s.spread
			k.Spectrum, failed[c] = spectrum(ctx,
				copyRows(s.x, s.draw(s.members[k.Label], 10*s.opt.PerClass, uint64(c)<<8|2), s.mean, 1))
		}
	})
	return out, cmp.Or(append(failed, err)...)
}

// findNearestClasses finds for every class the nearest other class. The mean squared distance of the rows of two
// classes is the squared distance of their centres plus their variances.
func (s *sample) findNearestClasses(ctx context.Context, out []ClassDiagnosis, centres *matrix.Dense,
	variance []float64) error {
	return par.ForContext(ctx, len(out), 4, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			best := math.Inf(1)
			for o := range out {
				if o == c {
					continue
				}
				d := dot16.SquaredDistance(centres.Row(c), centres.Row(o)) + variance[c] + variance[o]
				if d < best {
					best = d
					out[c].NearestClass = s.order[o]
				}
			}
			out[c].NearestDistance = safeSqrt(best) * s.spread
			if out[c].Size > 1 && out[c].NearestDistance > 0 {
				out[c].Compactness = new(out[c].Intra / out[c].NearestDistance)
			}
		}
	})
}

// classDistances returns the n x n matrix of distances between the rows of x.
func classDistances(x *matrix.Dense) []float64 {
	n := x.Rows
	d := make([]float64, n*n)
	for i := range n {
		for j := range i {
			v := safeSqrt(dot16.SquaredDistance(x.Row(i), x.Row(j)))
			d[i*n+j], d[j*n+i] = v, v
		}
	}
	return d
}

// summarise computes the figures over all classes.
func (r *Diagnosis) summarise() {
	var compact, ranks []float64
	told, sum := 0, 0
	for _, c := range r.Classes {
		if c.Compactness != nil {
			compact = append(compact, *c.Compactness)
			ranks = append(ranks, c.Spectrum.EffectiveRank)
		}
		if c.SubClasses > 0 {
			told++
			sum += c.SubClasses
		}
	}
	r.Compactness, r.ClassRank = median(compact), median(ranks)
	if told > 0 {
		r.DividedShare, r.MeanSubClasses = float64(r.SubClasses.NumDivided)/float64(told), float64(sum)/float64(told)
	}
}

// median returns the middle of v, 0 if it is empty.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	m := len(v) / 2
	if len(v)%2 == 1 {
		return v[m]
	}
	return (v[m-1] + v[m]) / 2
}
