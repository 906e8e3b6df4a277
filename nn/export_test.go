package nn

import "github.com/kindred-ml/kindred/matrix"

// ForwardSeen is Forward that passes on what each step makes, by the name of its
// first layer. Values are those of the engine's buffers, which later steps may
// use again.
func (e *Net) ForwardSeen(x []float32, n int, seen func(label string, values []float32)) *matrix.Dense {
	p := &e.train
	e.bind(p, n)
	p.in.x.data = x
	for _, s := range p.steps {
		s.forward(e, n)
		seen(s.label(), s.output().x.data)
	}
	e.images, e.input, e.ready = n, x, true
	e.stepCount++
	return matrix.FromSlice(n, e.Dim(), p.out.x.data)
}

// Steps returns the labels of the steps that training and evaluation are compiled
// to; a label with a + is of two convolutions in one.
func (e *Net) Steps() (training, evaluation []string) {
	labels := func(p plan) (l []string) {
		for _, s := range p.steps {
			l = append(l, s.label())
		}
		return l
	}
	return labels(e.train), labels(e.eval)
}

// ArenaSizes are how many values the buffers of training and of evaluation hold for an
// image.
func (e *Net) ArenaSizes() (train, eval int) { return e.train.size, e.eval.size }

// DuringPass has f called between the layers of every pass.
func (e *Net) DuringPass(f func()) { e.observe = func(step, int) { f() } }
