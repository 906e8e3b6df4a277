package nn

import "fmt"

// DeferMoments makes passes in training mode keep what they would have moved batch norm's
// running statistics by, until TakeMoments: for processes that share a batch, in which the
// pieces move these statistics in the order of the batch. With on false, passes move them
// at once, as at first.
func (e *Net) DeferMoments(on bool) { e.deferMoments, e.deferred = on, nil }

// TakeMoments returns what the passes since the last call have kept, pass after pass: of each
// batch norm, in the order of the network, the number of values, the means and the variances
// (biased) of its channels.
func (e *Net) TakeMoments() []float64 {
	m := e.deferred
	e.deferred = nil
	return m
}

// ApplyMoments moves the running statistics as the passes did that kept m, in their order. The
// result is the same to the bit as if each pass had moved them at once. m must be of whole
// passes of a network of this kind; where it is not, the error says so and nothing is moved.
func (e *Net) ApplyMoments(m []float64) error {
	var norms []*normStep
	size := 0
	for _, s := range e.train.steps {
		if s, ok := s.(*normStep); ok && !s.fixed {
			norms, size = append(norms, s), size+1+2*s.cols
		}
	}
	if len(m) > 0 && (size == 0 || len(m)%size != 0) {
		return fmt.Errorf("%d moments of batch norms: a pass of this network has %d", len(m), size)
	}
	for len(m) > 0 {
		for _, s := range norms {
			rows, mean, variance := m[0], m[1:1+s.cols], m[1+s.cols:1+2*s.cols]
			for c := range mean {
				s.updateRunning(c, int(rows), mean[c], variance[c])
			}
			m = m[1+2*s.cols:]
		}
	}
	return nil
}

// updateOrDefer moves the running statistics by what a pass has found in so many values, or keeps
// it.
func (s *normStep) updateOrDefer(e *Net, rows int) {
	if !e.deferMoments {
		for c := range s.mean {
			s.updateRunning(c, rows, float64(s.mean[c]), float64(s.variance[c]))
		}
		return
	}
	e.deferred = append(e.deferred, float64(rows))
	for _, of := range [][]float32{s.mean, s.variance} {
		for _, v := range of {
			e.deferred = append(e.deferred, float64(v))
		}
	}
}
