package optim

import "github.com/kindred-ml/kindred/nn"

// Device holds parameters, their gradients and their moments elsewhere, and moves
// them there: a network on a GPU, say. NewOn makes an optimizer that leaves them to
// it. What fails there is for the device to report.
type Device interface {
	// Holds tells whether the parameter is there.
	Holds(p *nn.Param) bool
	// SquareSum is the sum of the squares of the gradients of all that it holds.
	SquareSum() float64
	// Move takes one step.
	Move(m Move)
	// Moments copies the moments of a parameter to m and v, which are nil where the
	// method has none, and SetMoments sets them.
	Moments(p *nn.Param, m, v []float32)
	SetMoments(p *nn.Param, m, v []float32)
}

// Move is one step as a Device is to take it, of each parameter w with gradient g in
// the order of New:
//
//	g = Clip g + Decay w                 for adamw Decay w is no part of g
//	sgd:   b = Momentum b + g; w -= Rate b, with Nesterov w -= Rate (g + Momentum b)
//	adam:  m += (1-Beta1)(g - m); v += (1-Beta2)(g g - v);
//	       w -= Rate/Bias1 m / (sqrt(v/Bias2) + Eps)
//	adamw: w -= Rate Decay w before that
type Move struct {
	Config
	Bias1, Bias2 float64 // 1 - Beta^t
	Clip         float64
	Params       []Rule
}

// Rule is what holds for one parameter of a Move.
type Rule struct {
	*nn.Param
	Rate, Decay float64
}

// NewOn is New with parameters that d holds, or New if d is nil. State and SetState are as New's, so that
// a run can go on with another device, or with none.
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
