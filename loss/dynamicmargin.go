package loss

import "github.com/kindred-ml/kindred/internal/base/option"

// DynamicSoftMargin weights the violation of each triplet by the share of earlier triplets with a smaller
// violation:
//
//	L = F(v) v,  v = D_ap - D_an
//
// with D Euclidean and F the cumulative distribution of v over the batches so far: a moving average of
// histograms between -2 and 2, linear between their nodes. F counts as a constant in the gradient. L is
// negative for a triplet whose positive is nearer than its negative. Every chosen positive is combined with
// every chosen negative. Terms are triplets; the default reduction is the mean.
//
// Zhang and Rusinkiewicz 2019, "Learning local descriptors with a CDF-based dynamic
// soft margin".
//
// Use it with hard negatives, when a margin is hard to choose: its weights follow the training. It was made for local
// descriptors, with one positive each.
//
// Inside a class: it depends on the positive policy, as with triplet; there is no margin at which pulling ends, but
// satisfied triplets soon have little weight.
type DynamicSoftMargin struct {
	Bins     int      // nodes of the histogram, at least 2; default 512
	Momentum *float64 // share of a batch in the histogram, default 0.01
	Reduce   Reduction

	histogram  *Param
	cumulative []float64 // the cumulative distribution
}

// Traits implements Loss.
func (l *DynamicSoftMargin) Traits() Traits {
	return Traits{Measure: Euclidean, Reduction: l.Reduce, Passes: 1, Sums: l.bins()}
}

// Terms implements Loss.
func (l *DynamicSoftMargin) Terms() Terms { return SetTerms(l) }

func (l *DynamicSoftMargin) bins() int {
	if l.Bins > 0 {
		return max(l.Bins, 2)
	}
	return 512
}

// Learn implements Learner: the histogram starts as that of the first batch.
func (l *DynamicSoftMargin) Learn(int, int, uint64) error {
	l.histogram = newParam("histogram", 0, l.bins())
	l.cumulative = make([]float64, l.bins())
	return nil
}

// Params implements Learner.
func (l *DynamicSoftMargin) Params() []*Param { return []*Param{l.histogram} }

// binPosition returns where a violation is, in bins.
func (l *DynamicSoftMargin) binPosition(p, n float32) float64 {
	return max(0, min(4, float64(p)-float64(n)+2)) / 4 * float64(l.bins()-1)
}

// Summary implements MultiPass: how many triplets are at each node.
func (l *DynamicSoftMargin) Summary(_ int, s *Set, sums []float64) {
	for _, p := range s.Pos {
		for _, n := range s.Neg {
			addKernel(sums, l.binPosition(p, n))
		}
	}
}

// Follow implements Running.
func (l *DynamicSoftMargin) Follow(total []float64) {
	var count, before float64
	for k, h := range total {
		count += h
		before += float64(l.histogram.Value[k])
	}
	share := option.OrDefault(l.Momentum, 0.01)
	if before == 0 {
		share = 1
	}
	var sum float64
	for k, h := range total {
		v := float64(l.histogram.Value[k])
		if count > 0 {
			v = share*h/count + (1-share)*v
			l.histogram.Value[k] = float32(v)
		}
		sum += v
		l.cumulative[k] = sum
	}
	if sum > 0 {
		for k := range l.cumulative {
			l.cumulative[k] /= sum
		}
	}
}

// Set implements Sets.
func (l *DynamicSoftMargin) Set(s *Set) {
	last := len(l.cumulative) - 1
	away := s.Scratch(len(s.Neg))
	clear(away)
	for i, p := range s.Pos {
		var pull float64
		for j, n := range s.Neg {
			at := l.binPosition(p, n)
			b := min(int(at), last-1)
			f := at - float64(b)
			w := (1-f)*l.cumulative[b] + f*l.cumulative[b+1]
			s.Term(w * (float64(p) - float64(n)))
			pull += w
			away[j] -= w
		}
		s.DPos[i] = float32(pull)
	}
	scaleTo(s.DNeg, away, 1)
}
