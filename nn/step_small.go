package nn

import "math"

// actStep is an activation that follows nothing it could be fused with.
type actStep struct {
	path       string
	in, out    *tensorRef
	act        activation
	accumulate bool
}

func (s *actStep) label() string      { return s.path }
func (s *actStep) output() *tensorRef { return s.out }
func (s *actStep) cost() (f, b int64) { return 0, 0 }

func (s *actStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.out.x)
}

func (s *actStep) planBackward(p *planner) {
	if !s.in.needs {
		return
	}
	p.touch(s.out.g)
	if s.act.curved() {
		p.touch(s.in.x)
	} else {
		p.touch(s.out.x)
	}
	if s.in.g == nil {
		s.in.g = s.out.g
		return
	}
	s.accumulate = true
	p.touch(s.in.g)
}

func (s *actStep) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.y, r.act = s.in.x.data, s.out.x.data, s.act
	r.each(n*s.in.shape.H*s.in.shape.W, s.in.shape.C, actKernel)
}

func (s *actStep) backward(e *Net, n int) {
	if !s.in.needs {
		return
	}
	r := &e.rows
	r.dy, r.y, r.act = s.out.g.data, s.out.x.data, s.act
	kernel := maskKernel
	if s.act.curved() {
		r.x, kernel = s.in.x.data, actGradKernel
	}
	r.each(n*s.in.shape.H*s.in.shape.W, s.in.shape.C, kernel)
	if s.accumulate {
		r.y, r.x = s.in.g.data, s.out.g.data
		r.each(n, s.in.shape.Len(), addToKernel)
	}
}

// addStep is a residual sum and the activation that follows it.
type addStep struct {
	path           string
	in, short, out *tensorRef
	act            activation
	drop           *dropPath // leaves in out; nil: never
	toIn, toShort  handOver
}

// handOver says how a gradient reaches one of a sum's terms.
type handOver uint8

const (
	unwanted handOver = iota
	aliased           // the term's gradient is the sum's own buffer
	copied
	added
)

func (s *addStep) label() string      { return s.path }
func (s *addStep) output() *tensorRef { return s.out }
func (s *addStep) cost() (f, b int64) { return 0, 0 }

func (s *addStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.short.x, s.out.x)
}

func (s *addStep) planBackward(p *planner) {
	if !s.out.needs {
		return
	}
	p.touch(s.out.g)
	if s.act != identity {
		p.touch(s.out.x)
	}
	taken := false
	for _, t := range []struct {
		ref *tensorRef
		how *handOver
	}{{s.short, &s.toShort}, {s.in, &s.toIn}} {
		switch {
		case !t.ref.needs:
		case t.ref.g != nil:
			*t.how = added
			p.touch(t.ref.g)
		case taken:
			*t.how = copied
			p.gradient(t.ref)
		default:
			*t.how, taken = aliased, true
			t.ref.g = s.out.g
		}
	}
}

func (s *addStep) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.res, r.y, r.act = s.in.x.data, s.short.x.data, s.out.x.data, s.act
	kernel := addKernel
	if s.drop != nil {
		s.drop.draw(e)
		r.drop, kernel = s.drop, pathAddKernel
	}
	r.each(n, s.in.shape.Len(), kernel)
}

func (s *addStep) backward(e *Net, n int) {
	if !s.out.needs {
		return
	}
	r := &e.rows
	if s.act != identity {
		r.dy, r.y, r.act = s.out.g.data, s.out.x.data, s.act
		r.each(n, s.in.shape.Len(), maskKernel)
	}
	s.give(e, n, s.short, s.toShort)
	if s.drop == nil {
		s.give(e, n, s.in, s.toIn)
	} else if s.toIn != unwanted {
		r.x, r.y, r.drop, r.accumulate = s.out.g.data, s.in.g.data, s.drop, s.toIn == added
		r.each(n, s.in.shape.Len(), pathKernel)
	}
}

func (s *addStep) give(e *Net, n int, t *tensorRef, how handOver) {
	r := &e.rows
	switch how {
	case copied:
		copy(t.g.data, s.out.g.data)
	case added:
		r.y, r.x = t.g.data, s.out.g.data
		r.each(n, t.shape.Len(), addToKernel)
	}
}

// dropoutStep zeroes values at random and scales the others up. What it drops
// follows from the seed, the step, the layer and the position alone.
type dropoutStep struct {
	path       string
	in, out    *tensorRef
	rate       float64
	index      uint64 // of the layer
	key        uint64 // of the current step
	accumulate bool
}

func (s *dropoutStep) label() string      { return s.path }
func (s *dropoutStep) output() *tensorRef { return s.out }
func (s *dropoutStep) cost() (f, b int64) { return 0, 0 }

func (s *dropoutStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.out.x)
}

func (s *dropoutStep) planBackward(p *planner) {
	if s.in.needs {
		p.touch(s.out.g)
		s.accumulate = p.gradient(s.in)
	}
}

func (s *dropoutStep) forward(e *Net, n int) {
	s.key = mix(mix(mix(e.opt.Seed)^e.stepCount)^s.index) + uint64(e.first*s.in.shape.Len())
	s.apply(e, n, s.in.x.data, s.out.x.data, false)
}

func (s *dropoutStep) backward(e *Net, n int) {
	if s.in.needs {
		s.apply(e, n, s.out.g.data, s.in.g.data, s.accumulate)
	}
}

func (s *dropoutStep) apply(e *Net, n int, x, y []float32, accumulate bool) {
	r := &e.rows
	r.x, r.y, r.seed, r.accumulate = x, y, s.key, accumulate
	r.scale, r.keep = float32(1/(1-s.rate)), 1-s.rate
	r.each(n, s.in.shape.Len(), dropoutKernel)
}

func dropoutKernel(t *rowTask, _, lo, hi int) {
	keep := uint64(t.keep * (1 << 53))
	for i := lo * t.cols; i < hi*t.cols; i++ {
		var v float32
		if mix(t.seed+uint64(i))>>11 < keep {
			v = t.x[i] * t.scale
		}
		if t.accumulate {
			v += t.y[i]
		}
		t.y[i] = v
	}
}

// mix is the finaliser of SplitMix64 (Steele et al. 2014) over a Weyl step.
func mix(z uint64) uint64 {
	z = (z + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// l2Step divides each image's values by their norm, but by no less than
// minNorm.
type l2Step struct {
	path       string
	in, out    *tensorRef
	accumulate bool
}

const minNorm = 1e-12

func (s *l2Step) label() string      { return s.path }
func (s *l2Step) output() *tensorRef { return s.out }
func (s *l2Step) cost() (f, b int64) { return 0, 0 }

func (s *l2Step) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.out.x)
}

func (s *l2Step) planBackward(p *planner) {
	if s.in.needs {
		p.touch(s.in.x, s.out.g)
		s.accumulate = p.gradient(s.in)
	}
}

func (s *l2Step) forward(e *Net, n int) {
	r := &e.rows
	r.x, r.y = s.in.x.data, s.out.x.data
	r.each(n, s.in.shape.Len(), l2Kernel)
}

func (s *l2Step) backward(e *Net, n int) {
	if !s.in.needs {
		return
	}
	r := &e.rows
	r.x, r.dy, r.y, r.accumulate = s.in.x.data, s.out.g.data, s.in.g.data, s.accumulate
	r.each(n, s.in.shape.Len(), l2GradKernel)
}

func l2Kernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	for i := lo; i < hi; i++ {
		x, y := t.x[i*n:(i+1)*n], t.y[i*n:(i+1)*n]
		inv := 1 / max(norm(x), minNorm)
		for j, v := range x {
			y[j] = float32(float64(v) * inv)
		}
	}
}

// l2GradKernel: dx = (dy - y (y . dy)) / |x|, and dy / minNorm where |x| is
// below it.
func l2GradKernel(t *rowTask, _, lo, hi int) {
	n := t.cols
	for i := lo; i < hi; i++ {
		x, dy, dx := t.x[i*n:(i+1)*n], t.dy[i*n:(i+1)*n], t.y[i*n:(i+1)*n]
		length := norm(x)
		inv, along := 1/max(length, minNorm), 0.0
		if length > minNorm {
			for j, v := range x {
				along += float64(v) * float64(dy[j])
			}
			along *= inv * inv
		}
		for j, v := range x {
			g := float32((float64(dy[j]) - along*float64(v)) * inv)
			if t.accumulate {
				g += dx[j]
			}
			dx[j] = g
		}
	}
}

func norm(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}
