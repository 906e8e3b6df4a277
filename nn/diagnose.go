package nn

import (
	"fmt"
	"math"
)

// Diagnose finds where NaN or infinity enters: it checks the input, then the
// parameters and their gradients, then the output of each layer in training
// mode. It returns nil if all is finite, and otherwise an error that names the
// first place and wraps ErrNotFinite. It leaves running statistics and the step
// count unchanged; Backward then needs a new Forward.
func (e *Net) Diagnose(x []float32, n int) error {
	if i, v := firstNotFinite(x); i >= 0 {
		return fmt.Errorf("the input holds %v (image %d of the batch): %w", v, i/e.spec.Input.Len(), ErrNotFinite)
	}
	for _, p := range e.params {
		if _, v := firstNotFinite(p.Value); v != 0 {
			return fmt.Errorf("parameter %s holds %v: %w", p.Name, v, ErrNotFinite)
		}
	}
	keep := map[*Param][]float32{}
	for _, p := range e.params {
		if p.Buffer {
			keep[p] = append([]float32(nil), p.Value...)
		}
	}
	defer func() {
		for p, v := range keep {
			copy(p.Value, v)
		}
	}()
	e.ready = false
	e.bind(&e.train, n)
	e.train.in.x.data = x
	for _, s := range e.train.steps {
		s.forward(e, n)
		out := s.output()
		if i, v := firstNotFinite(out.x.values(n * out.shape.Len())); i >= 0 {
			return fmt.Errorf("layer %s makes %v (image %d of the batch, output %s): %w", s.label(), v,
				i/out.shape.Len(), out.shape, ErrNotFinite)
		}
	}
	for _, p := range e.params {
		if _, v := firstNotFinite(p.Grad); v != 0 {
			return fmt.Errorf("the gradient of %s holds %v: %w", p.Name, v, ErrNotFinite)
		}
	}
	return nil
}

// firstNotFinite returns the first NaN or infinity and its place, or -1 and 0.
func firstNotFinite(x []float32) (int, float32) {
	for i, v := range x {
		if d := float64(v); math.IsNaN(d) || math.IsInf(d, 0) {
			return i, v
		}
	}
	return -1, 0
}
