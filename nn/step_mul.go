package nn

import "github.com/kindred-ml/kindred/internal/kernel/simd"

// mulStep is the product of a shortcut and what a branch makes of it: of two
// images, or of an image and a vector of one value for each of its channels, as
// in squeeze and excite (Hu et al. 2018).
type mulStep struct {
	path           string
	in, short, out *tensorRef
	accIn, accRest bool
	zeros          []float32 // a value a channel
	unused         []float32 // a value a channel for each image, in backward
}

func (s *mulStep) label() string      { return s.path }
func (s *mulStep) output() *tensorRef { return s.out }
func (s *mulStep) cost() (f, b int64) { return 0, 0 }

// vector tells whether the branch makes a value a channel.
func (s *mulStep) vector() bool { return s.in.shape != s.short.shape }

func (s *mulStep) planForward(p *planner) {
	s.out.x = p.newBuf(s.out.shape.Len())
	p.touch(s.in.x, s.short.x, s.out.x)
}

func (s *mulStep) planBackward(p *planner) {
	if !s.out.needs {
		return
	}
	p.touch(s.out.g, s.in.x, s.short.x)
	if s.in.needs {
		s.accIn = p.gradient(s.in)
	}
	if s.short.needs {
		if s.accRest = s.short.g != nil; !s.accRest {
			s.short.g = s.out.g // in its place, once the branch has its own
		}
		p.touch(s.short.g)
	}
}

func (s *mulStep) forward(e *Net, n int) {
	if len(s.zeros) == 0 {
		s.zeros = make([]float32, s.out.shape.C)
	}
	e.rows.mul = s
	e.rows.each(n, s.out.shape.Len(), mulKernel)
}

func (s *mulStep) backward(e *Net, n int) {
	if !s.out.needs {
		return
	}
	if need := n * s.out.shape.C; s.vector() && len(s.unused) < need {
		s.unused = make([]float32, need)
	}
	e.rows.mul = s
	e.rows.each(n, s.out.shape.Len(), mulGradKernel)
}

// image cuts one image's values out of a tensor's.
func (t *tensorRef) image(data []float32, i int) []float32 {
	n := t.shape.Len()
	return data[i*n : (i+1)*n]
}

func mulKernel(t *rowTask, _, lo, hi int) {
	s := t.mul
	for i := lo; i < hi; i++ {
		a, b, y := s.in.image(s.in.x.data, i), s.short.image(s.short.x.data, i), s.out.image(s.out.x.data, i)
		if s.vector() {
			simd.ScaleShift(y, b, a, s.zeros, simd.Linear())
			continue
		}
		for j, v := range a {
			y[j] = v * b[j]
		}
	}
}

func mulGradKernel(t *rowTask, _, lo, hi int) {
	s := t.mul
	c := s.out.shape.C
	for i := lo; i < hi; i++ {
		a, b, dy := s.in.image(s.in.x.data, i), s.short.image(s.short.x.data, i), s.out.image(s.out.g.data, i)
		var da, db []float32
		if s.in.needs {
			da = s.in.image(s.in.g.data, i)
		}
		if s.short.needs {
			db = s.short.image(s.short.g.data, i)
		}
		if s.vector() {
			s.vectorGrad(a, b, dy, da, db, s.unused[i*c:(i+1)*c], t)
			continue
		}
		for j, g := range dy {
			if da != nil {
				v := g * b[j]
				if s.accIn {
					v += da[j]
				}
				da[j] = v
			}
			if db != nil {
				v := g * a[j]
				if s.accRest {
					v += db[j]
				}
				db[j] = v
			}
		}
	}
}

// vectorGrad is one image's way back where the branch makes a value a channel:
// its gradient sums over positions.
func (s *mulStep) vectorGrad(a, b, dy, da, db, sum []float32, t *rowTask) {
	if da != nil {
		dot := t.scratch.Get(len(da))
		simd.NormSums(sum, dot, dy, nil, b, s.zeros, simd.Linear())
		for j, v := range dot {
			if s.accIn {
				v += da[j]
			}
			da[j] = v
		}
		t.scratch.Put(dot)
	}
	switch {
	case db == nil:
	case s.accRest:
		simd.ScaleShiftAdd(db, dy, db, a, s.zeros, simd.Linear())
	default:
		simd.ScaleShift(db, dy, a, s.zeros, simd.Linear())
	}
}
