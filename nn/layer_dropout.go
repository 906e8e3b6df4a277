package nn

// dropoutLayer is the descriptor of dropout.
type dropoutLayer struct{ baseLayer }

func (dropoutLayer) fields() []string { return []string{"rate"} }

func (dropoutLayer) step(c *compiler, i int) (step, int) {
	if !c.training || c.g.nodes[i].layer.Rate == 0 {
		return nil, i
	}
	n, in, out := c.nodeAt(i)
	return &dropoutStep{plainStep: plainStep{stepBase: stepBase{n.path, in, out}}, rate: n.layer.Rate,
		index: uint64(i)}, i
}

// dropoutStep zeroes values at random and scales the others up. What it drops
// follows from the seed, the step, the layer and the position alone.
type dropoutStep struct {
	plainStep
	rate  float64
	index uint64 // of the layer
	key   uint64 // of the current step
}

func (s *dropoutStep) forward(e *Net, n int) {
	s.key = splitMix64(splitMix64(splitMix64(e.opt.Seed)^e.stepCount)^s.index) + uint64(e.first*s.in.shape.Len())
	s.apply(e, n, s.in.x.data, s.out.x.data, false)
}

func (s *dropoutStep) backward(e *Net, n int) {
	s.apply(e, n, s.out.g.data, s.in.g.data, s.accumulate)
}

func (s *dropoutStep) apply(e *Net, n int, x, y []float32, accumulate bool) {
	r := &e.rows
	r.x, r.y, r.seed, r.accumulate = x, y, s.key, accumulate
	r.scale, r.keep = float32(1/(1-s.rate)), 1-s.rate
	r.runChunks(n, s.in.shape.Len(), dropoutKernel)
}

func dropoutKernel(t *rowTask, _, lo, hi int) {
	keep := uint64(t.keep * (1 << 53))
	for i := lo * t.cols; i < hi*t.cols; i++ {
		var v float32
		if splitMix64(t.seed+uint64(i))>>11 < keep {
			v = t.x[i] * t.scale
		}
		if t.accumulate {
			v += t.y[i]
		}
		t.y[i] = v
	}
}

// splitMix64 is the finaliser of SplitMix64 (Steele et al. 2014) over a Weyl step.
func splitMix64(z uint64) uint64 {
	z = (z + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
