package train

import "github.com/kindred-ml/kindred/nn"

// OptimizerDevice holds parameters, their gradients and their moments, and updates them: a network on a GPU, for
// example. NewDeviceOptimizer makes an optimizer that leaves these parameters to the device. The device reports its
// failures itself.
type OptimizerDevice interface {
	// Holds reports whether the device holds the parameter.
	Holds(p *nn.Param) bool
	// SquareSum is the sum of the squares of the gradients of all parameters that it holds.
	SquareSum() float64
	// TakeStep takes one step.
	TakeStep(m DeviceStep)
	// Moments copies the moments of a parameter to m and v; a moment that the method does not have is
	// nil. SetMoments sets them.
	Moments(p *nn.Param, m, v []float32)
	SetMoments(p *nn.Param, m, v []float32)
}

// DeviceStep is one step for a Device to take, for each parameter w with gradient g in the order of New:
//
//	g = Clip g + Decay w                 not with adamw: there g = Clip g
//	sgd:   b = Momentum b + g; w -= Rate b, with Nesterov w -= Rate (g + Momentum b)
//	adam:  m += (1-Beta1)(g - m); v += (1-Beta2)(g g - v);
//	       w -= Rate/Bias1 m / (sqrt(v/Bias2) + Eps)
//	adamw: as adam, after w -= Rate Decay w
type DeviceStep struct {
	OptimizerConfig
	Bias1, Bias2 float64 // 1 - Beta^t
	Clip         float64
	Params       []ParamStep
}

// ParamStep holds the settings of one parameter in a DeviceStep.
type ParamStep struct {
	*nn.Param
	Rate, Decay float64
}

// NewDeviceOptimizer is New for parameters that d holds; with a nil d it is New. State and SetState are the same as
// for New, so a run can go on with another device, or without one.
func NewDeviceOptimizer(cfg OptimizerConfig, params []*nn.Param, d OptimizerDevice) (*Optimizer, error) {
	o, err := NewOptimizer(cfg, params)
	if err != nil || d == nil {
		return o, err
	}
	o.device = d
	var here []paramState
	for i := range o.params {
		p := &o.params[i]
		if p.onDevice = d.Holds(p.Param); !p.onDevice {
			here = append(here, *p)
		}
	}
	o.task = update{}
	o.task.init(here)
	return o, nil
}

// stepOnDevice has the device take the step that the host takes of its own parameters.
func (o *Optimizer) stepOnDevice() {
	if o.device == nil {
		return
	}
	u := &o.task
	m := DeviceStep{OptimizerConfig: o.cfg, Bias1: u.bias1, Bias2: u.bias2, Clip: float64(u.clip)}
	for _, p := range o.params {
		if p.onDevice {
			r := ParamStep{p.Param, u.rate * p.scale, o.cfg.WeightDecay}
			if p.noDecay {
				r.Decay = 0
			}
			m.Params = append(m.Params, r)
		}
	}
	o.device.TakeStep(m)
}

// copyMoments carries the moments that are on the device over, with the device's
// Moments or SetMoments.
func (o *Optimizer) copyMoments(f func(p *nn.Param, m, v []float32)) {
	for _, p := range o.params {
		if p.onDevice && p.m != nil {
			f(p.Param, p.m, p.v)
		}
	}
}
