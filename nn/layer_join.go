package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// sequentialLayer is the descriptor of layers one after the other, which is no node.
type sequentialLayer struct{ baseLayer }

func (sequentialLayer) fields() []string { return []string{"layers"} }

func (sequentialLayer) add(g *graph, l *Layer, _, inner string, in int) (int, error) {
	return g.sequence(l.Layers, inner, in)
}

func (sequentialLayer) step(_ *compiler, i int) (step, int) { return nil, i }

// residualLayer is the descriptor of a sum of layers and their shortcut.
type residualLayer struct{ baseLayer }

func (residualLayer) fields() []string { return []string{"layers", "shortcut"} }

func (k residualLayer) add(g *graph, l *Layer, path, inner string, in int) (int, error) {
	return g.join(k, l, path, inner, in, false)
}

func (residualLayer) savedValues(*graph, int) int64 { return 0 }

func (residualLayer) step(c *compiler, i int) (step, int) {
	return c.sum(i, c.ref(c.g.nodes[i].input()), nil)
}

// sum makes the step of the residual node i, with the activation that follows,
// over in, which drop, if any, leaves out at random.
func (c *compiler) sum(i int, in *tensorRef, drop *dropPath) (step, int) {
	n := &c.g.nodes[i]
	a := &addStep{stepBase: stepBase{path: n.path, in: in}, short: c.ref(n.shortcut()), drop: drop}
	last := i
	a.act, last = c.nextAct(i, activation.isClamp)
	a.out = c.ref(c.g.nodes[last].out)
	a.out.needsGrad = in.needsGrad || a.short.needsGrad
	return a, last
}

// mulLayer is the descriptor of a product of layers and their shortcut.
type mulLayer struct{ baseLayer }

func (mulLayer) fields() []string { return []string{"layers", "shortcut"} }

func (k mulLayer) add(g *graph, l *Layer, path, inner string, in int) (int, error) {
	return g.join(k, l, path, inner, in, true)
}

func (mulLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.nodeAt(i)
	m := &mulStep{stepBase: stepBase{n.path, in, out}, short: c.ref(n.shortcut())}
	m.out.needsGrad = m.short.needsGrad
	return m, i
}

// join appends a shortcut, layers and what joins both values. With gate the layers
// may make one value a channel.
func (g *graph) join(kind descriptor, l *Layer, path, inner string, in int, gate bool) (int, error) {
	short, err := g.sequence(l.Shortcut, inner, in)
	if err != nil {
		return 0, err
	}
	out, err := g.sequence(l.Layers, inner, in)
	if err != nil {
		return 0, err
	}
	a, b := g.values[out], g.values[short]
	perChannel := gate && a.shape == Shape{1, 1, b.shape.C} && !b.flat
	if (a.shape != b.shape || a.flat != b.flat) && !perChannel {
		return 0, fmt.Errorf("layer %s (%s): its layers make %s but its shortcut %s", path, l.Kind, a.shape, b.shape)
	}
	if out == short {
		return 0, fmt.Errorf("layer %s (%s): neither its layers nor its shortcut compute anything", path, l.Kind)
	}
	return g.emit(node{kind: kind, described: l, layer: l, path: path, prefix: inner, from: []int{out, short}}, b), nil
}

// addStep is a residual sum and the activation that follows it.
type addStep struct {
	stepBase
	short         *tensorRef
	act           activation
	drop          *dropPath // leaves in out; nil: never
	toIn, toShort gradRoute
}

// gradRoute says how a gradient reaches one of a sum's terms.
type gradRoute uint8

const (
	gradUnwanted gradRoute = iota
	gradAliased            // the term's gradient is the sum's own buffer
	gradCopied
	gradAdded
)

func (s *addStep) planForward(p *planner) { p.result(s.out, s.in, s.short) }

func (s *addStep) planBackward(p *planner) {
	p.touch(s.out.g)
	if s.act != identity {
		p.touch(s.out.x)
	}
	taken := false
	for _, t := range []struct {
		ref *tensorRef
		how *gradRoute
	}{{s.short, &s.toShort}, {s.in, &s.toIn}} {
		switch {
		case !t.ref.needsGrad:
		case t.ref.g != nil:
			*t.how = gradAdded
			p.touch(t.ref.g)
		case taken:
			*t.how = gradCopied
			p.gradient(t.ref)
		default:
			*t.how, taken = gradAliased, true
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
	r.runChunks(n, s.in.shape.Len(), kernel)
}

func (s *addStep) backward(e *Net, n int) {
	r := &e.rows
	if s.act != identity {
		r.dy, r.y, r.act = s.out.g.data, s.out.x.data, s.act
		r.runChunks(n, s.in.shape.Len(), maskKernel)
	}
	s.routeGrad(e, n, s.short, s.toShort)
	if s.drop == nil {
		s.routeGrad(e, n, s.in, s.toIn)
	} else if s.toIn != gradUnwanted {
		r.x, r.y, r.drop, r.accumulate = s.out.g.data, s.in.g.data, s.drop, s.toIn == gradAdded
		r.runChunks(n, s.in.shape.Len(), pathKernel)
	}
}

func (s *addStep) routeGrad(e *Net, n int, t *tensorRef, how gradRoute) {
	r := &e.rows
	switch how {
	case gradCopied:
		copy(t.g.data, s.out.g.data)
	case gradAdded:
		r.y, r.x = t.g.data, s.out.g.data
		r.runChunks(n, t.shape.Len(), addToKernel)
	}
}

// mulStep is the product of a shortcut and what a branch makes of it: of two
// images, or of an image and a vector of one value for each of its channels, as
// in squeeze and excite (Hu et al. 2018).
type mulStep struct {
	stepBase
	short          *tensorRef
	accIn, accRest bool
	zeros          []float32 // a value a channel
	unused         []float32 // a value a channel for each image, in backward
}

// vector reports whether the branch makes a value a channel.
func (s *mulStep) vector() bool { return s.in.shape != s.short.shape }

func (s *mulStep) planForward(p *planner) { p.result(s.out, s.in, s.short) }

func (s *mulStep) planBackward(p *planner) {
	p.touch(s.out.g, s.in.x, s.short.x)
	if s.in.needsGrad {
		s.accIn = p.gradient(s.in)
	}
	if s.short.needsGrad {
		s.accRest = p.inPlace(s.short, s.out) // once the branch has its own
	}
}

func (s *mulStep) forward(e *Net, n int) {
	if len(s.zeros) == 0 {
		s.zeros = make([]float32, s.out.shape.C)
	}
	e.rows.mul = s
	e.rows.runChunks(n, s.out.shape.Len(), mulKernel)
}

func (s *mulStep) backward(e *Net, n int) {
	if need := n * s.out.shape.C; s.vector() && len(s.unused) < need {
		s.unused = make([]float32, need)
	}
	e.rows.mul = s
	e.rows.runChunks(n, s.out.shape.Len(), mulGradKernel)
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
		if s.in.needsGrad {
			da = s.in.image(s.in.g.data, i)
		}
		if s.short.needsGrad {
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
