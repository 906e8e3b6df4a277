package loss

// FastAP is one minus a soft average precision of the anchor's ranking. Squared
// distances, in [0, 4] on the unit sphere, fall into bins with a triangular
// kernel. With h+_b and h_b the numbers of positives and of all references in
// bin b, and H+_b and H_b their cumulative sums,
//
//	L = 1 - (1/|P|) sum over bins of h+_b H+_b / H_b
//
// Distances beyond the last bin, which occur only for embeddings off the
// sphere, are not counted. Terms are anchors that have a positive; the default
// reduction is the mean.
//
// Cakir et al. 2019, "Deep metric learning to rank".
//
// Use it when average precision is what counts, with large batches.
//
// Inside a class: only the ranking counts: a class need not shrink once its members rank above others.
type FastAP struct {
	Bins   int // default 10
	Reduce Reduction
}

// Traits implements Loss.
func (l FastAP) Traits() Traits { return Traits{Measure: Squared, Reduction: l.Reduce} }

// Terms implements Loss.
func (l FastAP) Terms() Terms { return SetTerms(l) }

// Set implements Sets.
func (l FastAP) Set(s *Set) {
	if len(s.Pos) == 0 {
		return
	}
	bins := l.Bins
	if bins <= 0 {
		bins = 10
	}
	width := 4 / float64(bins)
	n := bins + 1 // centres of the kernels
	t := s.Scratch(4 * n)
	pos, all := t[:n], t[n:2*n]
	dpos, dall := t[2*n:3*n], t[3*n:]
	clear(t)
	for _, x := range s.Pos {
		addKernel(pos, float64(x)/width)
	}
	copy(all, pos)
	for _, x := range s.Neg {
		addKernel(all, float64(x)/width)
	}
	// dpos and dall become the derivatives of the sum with respect to the
	// positives and to all in each bin.
	var sum, cp, ca float64
	for b := range n {
		cp += pos[b]
		ca += all[b]
		if ca > 0 {
			sum += pos[b] * cp / ca
			dpos[b] = cp / ca
			// What each earlier bin and this one gain through the cumulative
			// sums is added up from behind below.
			pos[b], all[b] = pos[b]/ca, -pos[b]*cp/(ca*ca)
		} else {
			pos[b], all[b] = 0, 0
		}
	}
	var tp, ta float64
	for b := n - 1; b >= 0; b-- {
		tp += pos[b]
		ta += all[b]
		dpos[b] += tp + ta
		dall[b] = ta
	}
	np := float64(len(s.Pos))
	s.Term(max(0, 1-sum/np))
	kernelGradient(dpos, s.Pos, s.DPos, width, -1/np)
	kernelGradient(dall, s.Neg, s.DNeg, width, -1/np)
}

// addKernel adds the triangular kernel at x, in units of bins, to h.
func addKernel(h []float64, x float64) {
	b := int(min(x, float64(len(h))))
	f := x - float64(b)
	if b < len(h) {
		h[b] += 1 - f
	}
	if b+1 < len(h) {
		h[b+1] += f
	}
}

// kernelGradient sets d to scale times the derivative of the kernels weighted by dh.
func kernelGradient(dh []float64, x, d []float32, width, scale float64) {
	for k, v := range x {
		at := float64(v) / width
		b := int(min(at, float64(len(dh))))
		var g float64
		if b < len(dh) {
			g -= dh[b]
		}
		if b+1 < len(dh) {
			g += dh[b+1]
		}
		d[k] = float32(g / width * scale)
	}
}
