package decide

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// Drift compares photos without labels with the photos of the calibration: how near they are to other
// classes, which false matches and strangers depend on.
type Drift struct {
	Photos int `json:"photos"`
	// Classes is the assumed number of classes of the photos: with as many photos of each class as in
	// the calibration, and at most half of Known.
	Classes int `json:"classes"`
	// Reference and Known are numbers of classes of the calibration: those that distances are
	// measured to, and those that the photos are compared with.
	Reference int `json:"reference"`
	Known     int `json:"known"`
	// Statistic is that of Kolmogorov and Smirnov: the largest difference, over all distances,
	// between the shares of both sets of photos whose nearest reference photo is within the distance.
	// P is how often as many classes of the calibration, drawn at random, differ as much from the
	// others.
	Statistic float64 `json:"statistic"`
	P         float64 `json:"p"`
	// Nearest is the median distance of the photos to the nearest reference photo. KnownNearest is
	// the same for the photos of known classes.
	Nearest      float64 `json:"nearest"`
	KnownNearest float64 `json:"known_nearest"`
	// Matches are false matches between the photos and the reference.
	Matches []DriftMatch `json:"matches"`
}

// DriftMatch is a promised rate, with the rates that pairs with the reference show for the new photos
// and for the known classes.
type DriftMatch struct {
	Threshold
	New     float64 `json:"new"`
	Known   float64 `json:"known"`
	Refused string  `json:"refused,omitempty"`
}

// driftDraws is the number of random sets of classes for P.
const driftDraws = 999

// Drift compares the photos fresh, which have unknown labels of other classes, with the photos x of the
// calibration and their labels.
//
// Half of the classes, drawn by the seed, are the reference. A two-sample test compares the distances of
// fresh and of the other half to the nearest reference photo. Its unit is the class, because a test of
// single photos would find every set of new classes different. If fresh has fewer classes than
// Drift.Classes, P is too small; with more, it is too large.
func (c *Calibration) Drift(ctx context.Context, x *mat.Dense, labels []int64, fresh *mat.Dense,
	rates []float64) (*Drift, error) {
	if err := c.Fits(embedding.Network{}, "", x.Cols); err != nil {
		return nil, err
	}
	if err := c.Fits(embedding.Network{}, "", fresh.Cols); err != nil {
		return nil, err
	}
	if err := rank.Finite(fresh, "embeddings to compare"); err != nil {
		return nil, err
	}
	s, _, err := newSet(x, labels, &Options{Distance: c.Distance, Seed: c.Seed})
	if err != nil {
		return nil, err
	}
	if s.identities() < 2*fewestClasses || fresh.Rows == 0 {
		return nil, fmt.Errorf("%d photos are compared with %d classes: needs photos and at least %d "+
			"classes", fresh.Rows,
			s.identities(), 2*fewestClasses)
	}
	rng := rand.New(rand.NewPCG(c.Seed, 5))
	order := rng.Perm(s.identities())
	half := len(order) / 2
	reference := s.rowsOf(order[:half])
	if c.Distance == rank.Cosine {
		fresh = rank.Normalized(fresh)
	}
	out := &Drift{Photos: fresh.Rows, Reference: half, Known: len(order) - half}
	out.Classes = min(max(1, int(math.Round(float64(fresh.Rows)/c.PerClass))), out.Known/2)
	var within []float64
	for _, rate := range rates {
		m := DriftMatch{}
		if m.Threshold, err = c.Threshold(rate); err != nil {
			m.Refused = err.Error()
		}
		m.Rate = rate
		within = append(within, m.Distance)
		out.Matches = append(out.Matches, m)
	}
	near, share, err := s.against(ctx, fresh, reference, within)
	if err != nil {
		return nil, err
	}
	var known []float64
	of := make([][]float64, out.Known)
	for k, i := range order[half:] {
		n, matched, err := s.against(ctx, s.x.RowRange(s.first[i], s.first[i+1]), reference, within)
		if err != nil {
			return nil, err
		}
		of[k] = n
		known = append(known, n...)
		for r := range out.Matches {
			out.Matches[r].Known += matched[r] * float64(len(n))
		}
	}
	for r := range out.Matches {
		out.Matches[r].New = share[r]
		out.Matches[r].Known /= float64(len(known))
	}
	slices.Sort(near)
	slices.Sort(known)
	out.Nearest, out.KnownNearest = near[len(near)/2], known[len(known)/2]
	out.Statistic = apart(near, known)
	out.P = drawn(rng, of, out.Classes, out.Statistic)
	return out, nil
}

// drawn returns how often a random set of classes differs as much from the others.
func drawn(rng *rand.Rand, of [][]float64, classes int, statistic float64) float64 {
	as := 1
	for range driftDraws {
		rng.Shuffle(len(of), func(a, b int) { of[a], of[b] = of[b], of[a] })
		some, others := slices.Concat(of[:classes]...), slices.Concat(of[classes:]...)
		slices.Sort(some)
		slices.Sort(others)
		if apart(some, others) >= statistic {
			as++
		}
	}
	return float64(as) / (driftDraws + 1)
}

// apart returns the statistic of Kolmogorov and Smirnov for two sorted lists.
func apart(a, b []float64) float64 {
	i, j, most := 0, 0, 0.0
	for i < len(a) && j < len(b) {
		v := min(a[i], b[j])
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		most = max(most, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return most
}

// rowsOf copies the rows of identities.
func (s *set) rowsOf(identities []int) *mat.Dense {
	var rows []int
	for _, i := range identities {
		for q := s.first[i]; q < s.first[i+1]; q++ {
			rows = append(rows, q)
		}
	}
	return taken(s.x, rows)
}

// against compares every row of x with all rows of a reference. It returns the nearest distances, and
// the share of all pairs within each distance.
func (s *set) against(ctx context.Context, x, reference *mat.Dense, within []float64) (nearest, share []float64,
	err error) {
	nearest, share = make([]float64, 0, x.Rows), make([]float64, len(within))
	values := mat.New(min(tileRows, x.Rows), reference.Rows)
	for lo := 0; lo < x.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("comparing rows: %w", err)
		}
		hi := min(lo+tileRows, x.Rows)
		out := values.RowRange(0, hi-lo)
		if s.by == rank.Dot {
			mat.Gemm(false, true, -1, x.RowRange(lo, hi), reference, 0, out)
		} else {
			mat.SquaredDistances(x.RowRange(lo, hi), reference, out)
		}
		for q := range hi - lo {
			least := math.Inf(1)
			for _, v := range out.Row(q) {
				d := outward(s.by, float64(v))
				least = min(least, d)
				for r, w := range within {
					if d <= w {
						share[r]++
					}
				}
			}
			nearest = append(nearest, least)
		}
	}
	for r := range share {
		share[r] /= float64(x.Rows) * float64(reference.Rows)
	}
	return nearest, share, nil
}
