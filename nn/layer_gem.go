package nn

import "math"

// gemLayer is the descriptor of the generalised mean.
type gemLayer struct{ baseLayer }

func (gemLayer) fields() []string { return []string{"start", "eps"} }

func (gemLayer) check(l *Layer) error {
	if l.Start < 0 {
		return startError(l)
	}
	return nil
}

func (gemLayer) defaults(l *Layer, _ Shape) {
	l.Start, l.Eps = valueOr(l.Start, 3), valueOr(l.Eps, 1e-6)
}

func (gemLayer) output(_ *Layer, in value) (value, error) {
	return value{shape: Shape{1, 1, in.shape.C}}, checkPositions(in, "an image")
}

func (gemLayer) names(*Layer) []string { return []string{""} }

func (gemLayer) params(n *node, _ value) []*Param {
	p := tensor(n.path, [4]int{1, 1, 1, 1}, 1)
	p.constant = float32(n.layer.Start)
	return []*Param{p}
}

func (gemLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	s := &gemStep{stepBase: stepBase{n.path, in, out}, p: c.param(n, ""), eps: n.layer.Eps}
	out.needsGrad = trainable(s.p)
	return s, i
}

// gemStep is the generalised mean over positions (Radenovic et al. 2018):
//
//	y = m^(1/p), m = mean of u^p, u = max(x, eps)
//
// for each channel, with one trained p.
type gemStep struct {
	stepBase
	p          *Param
	eps        float64
	accumulate bool
	mean       []float64 // m of each image and channel, from forward
	dp         []float64 // of each image
}

func (s *gemStep) planBackward(p *planner) {
	p.touch(s.in.x, s.out.x, s.out.g)
	if s.in.needsGrad {
		s.accumulate = p.gradient(s.in)
	}
}

func (s *gemStep) forward(e *Net, n int) {
	if need := n * s.in.shape.C; len(s.mean) < need {
		s.mean, s.dp = make([]float64, need), make([]float64, n)
	}
	e.rows.gem = s
	e.rows.runChunks(n, s.in.shape.Len(), gemKernel)
}

func (s *gemStep) backward(e *Net, n int) {
	e.rows.gem = s
	e.rows.runChunks(n, s.in.shape.Len(), gemGradKernel)
	if trainable(s.p) {
		var sum float64
		for _, v := range s.dp[:n] {
			sum += v
		}
		s.p.Grad[0] = float32(sum)
	}
}

// power is the exponent, which the mean needs positive, and the least value.
func (s *gemStep) power() (p, eps float64) { return max(float64(s.p.Value[0]), s.eps), s.eps }

func gemKernel(t *rowTask, _, lo, hi int) {
	s := t.gem
	c := s.in.shape.C
	p, eps := s.power()
	for i := lo; i < hi; i++ {
		x, m := s.in.image(s.in.x.data, i), s.mean[i*c:(i+1)*c]
		clear(m)
		for j, v := range x {
			m[j%c] += math.Pow(max(float64(v), eps), p)
		}
		y := s.out.image(s.out.x.data, i)
		for j := range m {
			m[j] /= float64(len(x) / c)
			y[j] = float32(math.Pow(m[j], 1/p))
		}
	}
}

// gemGradKernel: dx = dy y u^(p-1) / (m T) where x > eps, and
//
//	dp = sum of dy y (mean of u^p ln u / (p m) - ln m / p^2)
func gemGradKernel(t *rowTask, _, lo, hi int) {
	s := t.gem
	c := s.in.shape.C
	p, eps := s.power()
	for i := lo; i < hi; i++ {
		x, m := s.in.image(s.in.x.data, i), s.mean[i*c:(i+1)*c]
		y, dy := s.out.image(s.out.x.data, i), s.out.image(s.out.g.data, i)
		positions := float64(len(x) / c)
		var dp float64
		for j, v := range m {
			dp -= float64(dy[j]) * float64(y[j]) * math.Log(v) / (p * p)
		}
		var dx []float32
		if s.in.needsGrad {
			dx = s.in.image(s.in.g.data, i)
		}
		for j, v := range x {
			k := j % c
			u := max(float64(v), eps)
			g := float64(dy[k]) * float64(y[k]) * math.Pow(u, p-1) / (m[k] * positions)
			dp += g * u * math.Log(u) / p
			if dx == nil {
				continue
			}
			if float64(v) <= eps {
				g = 0
			}
			if s.accumulate {
				g += float64(dx[j])
			}
			dx[j] = float32(g)
		}
		s.dp[i] = dp
	}
}
