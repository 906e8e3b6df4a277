package optim

import "github.com/kindred-ml/kindred/nn"

// Device holds parameters, their gradients and their moments, and updates them: a network on a GPU, for
// example. NewOn makes an optimizer that leaves these parameters to the device. The device reports its
// failures itself.
type Device interface {
	// Holds reports whether the device holds the parameter.
	Holds(p *nn.Param) bool
	// SquareSum is the sum of the squares of the gradients of all parameters that it holds.
	SquareSum() float64
	// Move takes one step.
	Move(m Move)
	// Moments copies the moments of a parameter to m and v; a moment that the method does not have is
	// nil. SetMoments sets them.
	Moments(p *nn.Param, m, v []float32)
	SetMoments(p *nn.Param, m, v []float32)
}

// Move is one step for a Device to take, for each parameter w with gradient g in the order of New:
//
//	g = Clip g + Decay w                 not with adamw: there g = Clip g
//	sgd:   b = Momentum b + g; w -= Rate b, with Nesterov w -= Rate (g + Momentum b)
//	adam:  m += (1-Beta1)(g - m); v += (1-Beta2)(g g - v);
//	       w -= Rate/Bias1 m / (sqrt(v/Bias2) + Eps)
//	adamw: as adam, after w -= Rate Decay w
type Move struct {
	Config
	Bias1, Bias2 float64 // 1 - Beta^t
	Clip         float64
	Params       []Rule
}

// Rule holds the settings of one parameter in a Move.
type Rule struct {
	*nn.Param
	Rate, Decay float64
}

// NewOn is New for parameters that d holds; with a nil d it is New. State and SetState are the same as
// for New, so a run can go on with another device, or without one.
func NewOn(cfg Config, params []*nn.Param, d Device) (*Optimizer, error) {
	o, err := New(cfg, params)
	if err != nil || d == nil {
		return o, err
	}
	o.device = d
	var here []tracked
	for i := range o.params {
		p := &o.params[i]
		if p.away = d.Holds(p.Param); !p.away {
			here = append(here, *p)
		}
	}
	o.task = update{}
	o.task.init(here)
	return o, nil
}

// move has the device take the step that the host takes of its own parameters.
func (o *Optimizer) move() {
	if o.device == nil {
		return
	}
	u := &o.task
	m := Move{Config: o.cfg, Bias1: u.bias1, Bias2: u.bias2, Clip: float64(u.clip)}
	for _, p := range o.params {
		if p.away {
			r := Rule{p.Param, u.rate * p.scale, o.cfg.WeightDecay}
			if p.noDecay {
				r.Decay = 0
			}
			m.Params = append(m.Params, r)
		}
	}
	o.device.Move(m)
}

// exchange carries the moments that are on the device over, with the device's
// Moments or SetMoments.
func (o *Optimizer) exchange(f func(p *nn.Param, m, v []float32)) {
	for _, p := range o.params {
		if p.away && p.m != nil {
			f(p.Param, p.m, p.v)
		}
	}
}
