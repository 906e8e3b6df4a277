package decide

import (
	"math"
	"sort"
)

// Curve is the log-odds that a pair is of the same class, at even prior odds, by distance. It is linear
// between its points, constant beyond them, and never rises.
type Curve struct {
	Distance []float64 `json:"distance"`
	LogOdds  []float64 `json:"log_odds"`
}

// LogOddsAt returns the log-odds at a distance.
func (c Curve) LogOddsAt(d float64) float64 {
	k := sort.SearchFloat64s(c.Distance, d)
	switch {
	case k == 0:
		return c.LogOdds[0]
	case k == len(c.Distance):
		return c.LogOdds[k-1]
	}
	a, b := c.Distance[k-1], c.Distance[k]
	f := (d - a) / (b - a)
	return c.LogOdds[k-1] + f*(c.LogOdds[k]-c.LogOdds[k-1])
}

// block holds neighbouring levels with the same probability: their mass, and the middles of the first and
// the last of the pooled blocks.
type block struct{ same, different, first, last float64 }

func (b *block) mass() float64  { return b.same + b.different }
func (b *block) share() float64 { return b.same / b.mass() }

// fitCurve fits the curve to counts of pairs by level, with each kind scaled to a mass of 1. It is
// isotonic regression by pooling adjacent violators (Ayer et al. 1955), in blocks of at least a
// hundredth of the mass. The curve is constant between the middles of the first and last pooled blocks,
// and linear to the next. If classes are far apart, one pooled block holds nearly all pairs of a kind; a
// curve through its middle alone would put half of them on a slope. To keep the log-odds finite, half an
// identity is added to same pairs and half a pair of identities to different pairs, relative to the
// effective numbers classes and pairs.
func fitCurve(end, same, different []float64, classes, pairs float64) Curve {
	var allSame, allDifferent float64
	for k := range same {
		allSame, allDifferent = allSame+same[k], allDifferent+different[k]
	}
	const leastMass = 0.01
	var blocks []block
	var open block
	var weighted float64
	for k := range end {
		s, d := same[k]/allSame, different[k]/allDifferent
		open.same, open.different = open.same+s, open.different+d
		lo := end[k]
		if k > 0 {
			lo = end[k-1]
		}
		weighted += (s + d) * (lo + end[k]) / 2
		if open.mass() < leastMass && k < len(end)-1 {
			continue
		}
		if open.mass() == 0 {
			continue
		}
		open.first = weighted / open.mass()
		open.last = open.first
		blocks = append(blocks, open)
		open, weighted = block{}, 0
		for n := len(blocks); n > 1 && blocks[n-2].share() <= blocks[n-1].share(); n-- {
			a, b := blocks[n-2], blocks[n-1]
			blocks = append(blocks[:n-2], block{a.same + b.same, a.different + b.different, a.first, b.last})
		}
	}
	var c Curve
	for _, b := range blocks {
		odds := math.Log((b.same + 0.5/classes*b.different) / (b.different + 0.5/pairs*b.same))
		if n := len(c.LogOdds); n > 0 {
			odds = min(odds, c.LogOdds[n-1])
		}
		for _, at := range []float64{b.first, b.last} {
			if n := len(c.Distance); n == 0 || at > c.Distance[n-1] { // levels may have width 0
				c.Distance, c.LogOdds = append(c.Distance, at), append(c.LogOdds, odds)
			}
		}
	}
	return c
}

// Reliability holds the differences between probabilities and observed shares, on classes to which the
// probabilities were not fitted.
type Reliability struct {
	// ECE is the expected calibration error (Guo et al. 2017): the mean, over all pairs
	// with both kinds at equal weight, of |probability - share| in bins of equal width.
	ECE float64 `json:"ece"`
	// Chance is the ECE that perfectly calibrated probabilities would show on average, because the
	// classes are few; 0 if it was not measured.
	Chance float64 `json:"chance,omitempty"`
	// Debiased is ECE without the part that chance adds. For perfectly calibrated probabilities six
	// tenths of Chance remain on average. For a single set of classes it may be below 0.
	Debiased float64 `json:"debiased,omitempty"`
	Bins     []Bin   `json:"bins"`
}

// Bin is a point of the reliability diagram.
type Bin struct {
	Probability float64 `json:"probability"` // mean probability
	Share       float64 `json:"share"`       // observed share
	Weight      float64 `json:"weight"`      // share of all pairs
}

// reliabilityBins is the number of bins of Guo et al.
const reliabilityBins = 15

// computeReliability compares probabilities with weighted outcomes.
func computeReliability(each func(yield func(p, right, wrong float64))) Reliability {
	var p, right, mass [reliabilityBins]float64
	var all float64
	each(func(q, r, w float64) {
		b := min(int(q*reliabilityBins), reliabilityBins-1)
		p[b] += q * (r + w)
		right[b] += r
		mass[b] += r + w
		all += r + w
	})
	out := Reliability{Bins: []Bin{}}
	for b, w := range mass {
		if w > 0 {
			out.Bins = append(out.Bins, Bin{p[b] / w, right[b] / w, w / all})
			out.ECE += w / all * math.Abs(p[b]/w-right[b]/w)
		}
	}
	return out
}

// crossValidateCurve fits the curve to the pairs of four fifths of the classes and tests it on the others, five
// times.
func (m *measurement) crossValidateCurve() Reliability {
	levels := len(m.l.keys)
	n := float64(m.s.numIdentities())
	return computeReliability(func(yield func(p, right, wrong float64)) {
		for out := range foldCount {
			same, different := make([]float64, levels), make([]float64, levels)
			var s, d float64
			for a := range foldCount {
				for b := range foldCount {
					for k := range levels {
						if a != out && b != out {
							same[k] += m.same[a][b][k]
							different[k] += m.different[a][b][k]
						}
					}
				}
			}
			for k := range levels {
				s, d = s+m.same[out][out][k], d+m.different[out][out][k]
			}
			if s == 0 || d == 0 || sum(same) == 0 || sum(different) == 0 {
				continue
			}
			share := 1 - 1.0/foldCount
			c := fitCurve(m.l.end, same, different, n*share, m.pairs*share*share)
			for k, e := range m.l.end {
				lo := e
				if k > 0 {
					lo = m.l.end[k-1]
				}
				yield(logistic(c.LogOddsAt((lo+e)/2)), m.same[out][out][k]/s, m.different[out][out][k]/d)
			}
		}
	})
}

func sum(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s
}

func logistic(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// logit is bounded, so that it is finite for 0 and 1.
func logit(p float64) float64 {
	const edge = 1e-9
	p = min(max(p, edge), 1-edge)
	return math.Log(p / (1 - p))
}
