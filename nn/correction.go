package nn

import "github.com/kindred-ml/kindred/internal/base/par"

// correctionPhotos is the number of inputs that corrections are found on.
const correctionPhotos = 64

// addCorrections adds corrections to q, layer after layer: what the sums of a channel lack in 8 bits on
// average, where the layers before are corrected already. Rounded weights are off on average,
// and with few weights in a filter, as depthwise ones have, by much (Nagel et al. 2019).
func (c *Calibration) addCorrections(q *Quantization) error {
	net, err := c.net.Quantized(q)
	if err != nil {
		return err
	}
	n := len(c.kept) / c.net.spec.Input.Len()
	p := &net.eval
	net.bind(p, n)
	p.in.x.data = c.kept
	for _, st := range p.steps {
		s, ok := st.(sumStep)
		if ok && s.acceptsBytes() {
			k, size := s.output().shape.C, s.output().shape.Len()
			sums := make([]float64, k)
			addColumns(sums, c.sums(net, s, n))
			by := Correction{Layer: s.label(), Values: make([]float32, k)}
			for j, want := range c.means[s.label()] {
				by.Values[j] = float32((want - sums[j]) / float64(n*size/k))
			}
			q.Corrections = append(q.Corrections, by)
			s.inBytes().shift = by.Values
		}
		if b, ok := st.(byteStep); ok && b.acceptsBytes() {
			b.packBytes()
		}
		st.forward(net, n)
	}
	return nil
}

// addSums watches what s makes before its residual and its activation.
func (c *Calibration) addSums(s sumStep, n int) {
	var rounds bool
	if s, ok := s.(*convStep); ok {
		rounds = s.res != nil || s.act.isCurved()
	}
	if !rounds && !c.keeping {
		return
	}
	x := c.sums(c.net, s, n)
	if rounds {
		h := c.before[s.label()]
		if h == nil {
			h = new(histogram)
			c.before[s.label()] = h
		}
		h.add(x)
	}
	if c.keeping {
		k := s.output().shape.C
		if c.means[s.label()] == nil {
			c.means[s.label()] = make([]float64, k)
		}
		addColumns(c.means[s.label()], x)
	}
}

// addColumns adds to each of the sums the values of its channel.
func addColumns(sums []float64, x []float32) {
	k := len(sums)
	parts := min(k, 16)
	par.For(parts, 1, func(from, to int) {
		lo, hi := from*k/parts, to*k/parts
		for y := x; len(y) > 0; y = y[k:] {
			for j, v := range y[lo:hi] {
				sums[lo+j] += float64(v)
			}
		}
	})
}

// sums returns what s makes of n images before its residual and its activation.
func (c *Calibration) sums(e *Net, s sumStep, n int) []float32 {
	need := n * s.output().shape.Len()
	if len(c.room) < need {
		c.room = make([]float32, need)
	}
	out := &tensorRef{shape: s.output().shape, scale: s.output().scale, x: &buf{data: c.room[:need]}}
	bare := s.sumOnly(out)
	if b, ok := bare.(byteStep); ok && b.acceptsBytes() {
		b.packBytes()
	}
	bare.forward(e, n)
	return out.x.data
}
