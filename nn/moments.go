package nn

import "fmt"

// HoldMoments makes passes in training mode keep what they would have moved batch norm's
// running statistics by, until TakeMoments: for processes that share a batch, in which the
// pieces move these statistics in the order of the batch. With on false, passes move them
// at once, as at first.
func (e *Net) HoldMoments(on bool) { e.hold, e.held = on, nil }

// TakeMoments returns what the passes since the last call have kept, pass after pass: of each
// batch norm, in the order of the network, the number of values, the means and the variances
// (biased) of its channels.
func (e *Net) TakeMoments() []float64 {
	m := e.held
	e.held = nil
	return m
}

// MoveMoments moves the running statistics as the passes did that kept m, in their order. The
// result is the same to the bit as if each pass had moved them at once. m must be of whole
// passes of a network of this kind; where it is not, the error says so and nothing is moved.
func (e *Net) MoveMoments(m []float64) error {
	var norms []*normStep
	size := 0
	for _, s := range e.train.steps {
		if s, ok := s.(*normStep); ok && !s.fixed {
			norms, size = append(norms, s), size+1+2*s.cols
		}
	}
	if len(m) > 0 && (size == 0 || len(m)%size != 0) {
		return fmt.Errorf("nn: %d moments of batch norms: a pass of this network has %d", len(m), size)
	}
	for len(m) > 0 {
		for _, s := range norms {
			rows, mean, variance := m[0], m[1:1+s.cols], m[1+s.cols:1+2*s.cols]
			for c := range mean {
				s.move(c, int(rows), mean[c], variance[c])
			}
			m = m[1+2*s.cols:]
		}
	}
	return nil
}

// moveOrHold moves the running statistics by what a pass has found in so many values, or keeps
// it.
func (s *normStep) moveOrHold(e *Net, rows int) {
	if !e.hold {
		for c := range s.mean {
			s.move(c, rows, float64(s.mean[c]), float64(s.variance[c]))
		}
		return
	}
	e.held = append(e.held, float64(rows))
	for _, of := range [][]float32{s.mean, s.variance} {
		for _, v := range of {
			e.held = append(e.held, float64(v))
		}
	}
}
