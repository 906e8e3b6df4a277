package diagnose

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/matrix"
)

// Class is the diagnosis of one class. Its distances are not relative to the spread.
type Class struct {
	Label int64  `json:"label"`
	Name  string `json:"name,omitempty"`
	Size  int    `json:"size"`
	// Diameter is the largest distance between two of its rows. In a class larger than PerClass it
	// is computed from PerClass rows drawn at random.
	Diameter float64 `json:"diameter"`
	// Intra is the root mean square distance between two of its rows; 0 for a class of one row.
	// Other is the root mean square distance between its rows and those of Nearest, the class for
	// which that is smallest.
	Intra   float64 `json:"intra"`
	Other   float64 `json:"other"`
	Nearest int64   `json:"nearest"`
	// Compactness is Intra / Other; left out for a class of one row, and if Other is 0.
	Compactness *float64 `json:"compactness,omitempty"`
	// Kinds is the number of sub-classes that package discover finds in the class: 1 if it is not
	// divided, and 0 (unknown) for fewer than 10 rows. P is as in discover.Judged.
	Kinds int     `json:"kinds"`
	P     float64 `json:"p"`
	// Spectrum is the spectrum of the class's rows.
	Spectrum Spectrum `json:"spectrum"`
	// Recall is Recall@1 of its queries, by its label.
	Recall float64 `json:"recall"`
}

// classes measures every class.
func (s *sample) classes(ctx context.Context) ([]Class, error) {
	out := make([]Class, len(s.order))
	centres := matrix.New(len(s.order), s.x.Cols) // relative to the mean and the spread
	variance := make([]float64, len(s.order))     // in squares of the spread
	err := par.ForContext(ctx, len(s.order), 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			y := s.order[c]
			rows := s.members[y]
			mean, v := moments(s.x, rows)
			for j, m := range mean {
				centres.Row(c)[j] = float32((m - s.mean[j]) / s.spread)
			}
			variance[c] = v / (s.spread * s.spread)
			out[c] = Class{Label: y, Name: s.names[y], Size: len(rows)}
			if n := float64(len(rows)); n > 1 {
				out[c].Intra = root(2 * v * n / (n - 1))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := s.others(ctx, out, centres, variance); err != nil {
		return nil, err
	}
	failed := make([]error, len(s.order))
	err = par.ForContext(ctx, len(s.order), 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			k := &out[c]
			rows := s.draw(s.members[k.Label], s.opt.PerClass, uint64(c)<<8|1)
			x := gather(s.x, rows, s.mean, 1/s.spread)
			k.Diameter = slices.Max(distances(x)) * s.spread
			k.Spectrum, failed[c] = spectrum(ctx,
				gather(s.x, s.draw(s.members[k.Label], 10*s.opt.PerClass, uint64(c)<<8|2), s.mean, 1))
		}
	})
	return out, cmp.Or(append(failed, err)...)
}

// others finds for every class the nearest other class. The mean squared distance of the rows of two
// classes is the squared distance of their centres plus their variances.
func (s *sample) others(ctx context.Context, out []Class, centres *matrix.Dense, variance []float64) error {
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
					out[c].Nearest = s.order[o]
				}
			}
			out[c].Other = root(best) * s.spread
			if out[c].Size > 1 && out[c].Other > 0 {
				out[c].Compactness = new(out[c].Intra / out[c].Other)
			}
		}
	})
}

// distances returns the n x n matrix of distances between the rows of x.
func distances(x *matrix.Dense) []float64 {
	n := x.Rows
	d := make([]float64, n*n)
	for i := range n {
		for j := range i {
			v := root(dot16.SquaredDistance(x.Row(i), x.Row(j)))
			d[i*n+j], d[j*n+i] = v, v
		}
	}
	return d
}

// summarise computes the figures over all classes.
func (r *Result) summarise() {
	var compact, ranks []float64
	told, sum := 0, 0
	for _, c := range r.Classes {
		if c.Compactness != nil {
			compact = append(compact, *c.Compactness)
			ranks = append(ranks, c.Spectrum.EffectiveRank)
		}
		if c.Kinds > 0 {
			told++
			sum += c.Kinds
		}
	}
	r.Compactness, r.ClassRank = median(compact), median(ranks)
	if told > 0 {
		r.Several, r.MeanKinds = float64(r.Kinds.Several)/float64(told), float64(sum)/float64(told)
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
