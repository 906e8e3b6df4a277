package loss

// Histogram is the probability that a negative pair of the batch is more similar
// than a positive pair, estimated by histograms of their similarities:
//
//	L = sum over bins b of h-_b sum over bins a <= b of h+_a
//
// with h+ and h- the shares of positive and of negative pairs in each bin.
// Similarities, which are in [-1, 1] on the unit sphere, are shared between the two
// nearest of bins + 1 nodes by a triangular kernel. Off the sphere, similarities
// beyond -1 and 1 count as -1 and 1 and get no gradient. Terms are negative pairs;
// their mean, the default reduction, is the formula above. A batch without positive
// pairs has the value 0.
//
// Ustinova and Lempitsky 2016, "Learning deep embeddings with histogram loss".
//
// Use it when no margin, scale or temperature should have to be chosen. It needs batches with thousands of pairs,
// from which it estimates two distributions.
//
// Inside a class: positive pairs are moved only where negative pairs of the batch are as similar: a class keeps
// whatever spread does not overlap.
type Histogram struct {
	Bins   int // default 100
	Reduce Reduction
}

// Traits implements Loss.
func (l Histogram) Traits() Traits {
	return Traits{Reduction: l.Reduce, Passes: 1, Sums: 2 * (l.bins() + 1)}
}

// Terms implements Loss.
func (l Histogram) Terms() Terms { return SetTerms(l) }

func (l Histogram) bins() int {
	if l.Bins > 0 {
		return l.Bins
	}
	return 100
}

// Summary implements MultiPass: how many positives, then negatives, are at each
// node.
func (l Histogram) Summary(_ int, s *Set, sums []float64) {
	n := l.bins() + 1
	for _, x := range s.Pos {
		at, _ := l.binPosition(x)
		addKernel(sums[:n], at)
	}
	for _, x := range s.Neg {
		at, _ := l.binPosition(x)
		addKernel(sums[n:], at)
	}
}

// binPosition returns where a similarity is, in bins, and how fast it moves.
func (l Histogram) binPosition(x float32) (at, slope float64) {
	half := float64(l.bins()) / 2
	if x < -1 || x > 1 {
		return max(0, min(2*half, half*(float64(x)+1))), 0
	}
	return half * (float64(x) + 1), half
}

// Set implements Sets.
func (l Histogram) Set(s *Set) {
	n := l.bins() + 1
	pos, neg := s.Total[0][:n], s.Total[0][n:]
	var count float64
	for _, h := range pos {
		count += h
	}
	below := s.Scratch(n) // the share of positive pairs up to each node
	clear(below)
	if count > 0 {
		var sum float64
		for b, h := range pos {
			sum += h
			below[b] = sum / count
		}
	}
	for k, x := range s.Neg {
		at, slope := l.binPosition(x)
		b := min(int(at), n-2)
		f := at - float64(b)
		s.Term((1-f)*below[b] + f*below[b+1])
		s.DNeg[k] = float32(slope * (below[b+1] - below[b]))
	}
	for k, x := range s.Pos {
		at, slope := l.binPosition(x)
		// Of the negative pairs at or beyond the two nodes, those at the first count
		// for it alone.
		s.DPos[k] = float32(-slope * neg[min(int(at), n-2)] / count)
	}
}
