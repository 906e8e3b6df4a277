package train

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// OptimizerMethod is the rule that turns gradients into steps. Its text is its name.
type OptimizerMethod string

// The methods. With g the gradient, w the weight, lr the rate:
const (
	// Adam (Kingma and Ba 2015): m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
	// w -= lr m/(1-b1^t) / (sqrt(v/(1-b2^t)) + eps). Weight decay adds decay w to g.
	Adam OptimizerMethod = "adam"
	// AdamW (Loshchilov and Hutter 2019) is Adam with w -= lr decay w instead.
	AdamW OptimizerMethod = "adamw"
	// SGD with momentum: b = momentum b + g; w -= lr b, or with Nesterov
	// w -= lr (g + momentum b). Weight decay adds decay w to g.
	SGD OptimizerMethod = "sgd"
)

// OptimizerConfig chooses an optimizer. The zero value of each field is its default.
type OptimizerConfig struct {
	Method      OptimizerMethod `json:"method,omitempty"`       // default Adam
	Rate        float64         `json:"rate,omitempty"`         // default 1e-3
	Beta1       float64         `json:"beta1,omitempty"`        // Adam: default 0.9
	Beta2       float64         `json:"beta2,omitempty"`        // Adam: default 0.999
	Eps         float64         `json:"eps,omitempty"`          // Adam: default 1e-8
	Momentum    float64         `json:"momentum,omitempty"`     // SGD: default 0
	Nesterov    bool            `json:"nesterov,omitempty"`     // SGD, with momentum
	WeightDecay float64         `json:"weight_decay,omitempty"` // default 0, for AdamW 0.01; negative: none
	ClipNorm    float64         `json:"clip_norm,omitempty"`    // largest global norm of the gradients; 0: no limit
	// Groups scale the rate of parameters by name. The first group that matches a
	// name counts.
	Groups   []ParamGroup `json:"groups,omitempty"`
	Schedule RateSchedule `json:"schedule"`
}

// ParamGroup sets the rate of the parameters whose names start with Prefix (up to a
// dot or in full) to Scale times the common one. NoDecay exempts them from
// weight decay.
type ParamGroup struct {
	Prefix  string  `json:"prefix"`
	Scale   float64 `json:"scale"`
	NoDecay bool    `json:"no_decay,omitempty"`
}

// Optimizer updates parameters in place from their gradients. Its work is cut
// into chunks that do not depend on the number of cores, and it allocates
// nothing per step.
type Optimizer struct {
	cfg    OptimizerConfig
	params []paramState
	step   int
	task   update
	device OptimizerDevice // of the parameters that are away
}

// paramState is a parameter with its moments.
type paramState struct {
	*nn.Param
	m, v     []float32 // v for Adam only; m for SGD with momentum
	scale    float64
	noDecay  bool
	onDevice bool // the device has its gradient, moments and value
}

// NewOptimizer makes an optimizer for the parameters that have a gradient. A group that
// matches no parameter is an error, and so is a value out of range.
func NewOptimizer(cfg OptimizerConfig, params []*nn.Param) (*Optimizer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	o := &Optimizer{cfg: cfg}
	used := make([]bool, len(cfg.Groups))
	for _, p := range params {
		t := paramState{Param: p, scale: 1}
		for i, g := range cfg.Groups {
			if rest, ok := strings.CutPrefix(p.Name, strings.TrimSuffix(g.Prefix, ".")); ok &&
				(rest == "" || rest[0] == '.') {
				t.scale, t.noDecay, used[i] = g.Scale, g.NoDecay, true
				break
			}
		}
		if p.Grad == nil || p.Frozen || p.Buffer {
			continue
		}
		if cfg.Method != SGD || cfg.Momentum > 0 {
			t.m = make([]float32, len(p.Value))
		}
		if cfg.Method != SGD {
			t.v = make([]float32, len(p.Value))
		}
		o.params = append(o.params, t)
	}
	for i, g := range cfg.Groups {
		if !used[i] {
			return nil, fmt.Errorf("optimizer: group %q matches no parameter", g.Prefix)
		}
	}
	o.task.init(o.params)
	return o, nil
}

func (c OptimizerConfig) withDefaults() OptimizerConfig {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	if c.Method == "" {
		c.Method = Adam
	}
	def(&c.Rate, 1e-3)
	def(&c.Beta1, 0.9)
	def(&c.Beta2, 0.999)
	def(&c.Eps, 1e-8)
	if c.Method == AdamW {
		def(&c.WeightDecay, 0.01)
	}
	c.WeightDecay = max(c.WeightDecay, 0)
	return c
}

func (c *OptimizerConfig) check() error {
	positive := func(name string, v, below float64) error {
		if !(v >= 0 && v < below) {
			return fmt.Errorf("optimizer: %s = %v; it must be at least 0 and below %v", name, v, below)
		}
		return nil
	}
	if err := c.Method.check(); err != nil {
		return err
	}
	inf := math.Inf(1)
	if err := errors.Join(
		positive("rate", c.Rate, inf), positive("beta1", c.Beta1, 1), positive("beta2", c.Beta2, 1),
		positive("eps", c.Eps, inf),
		positive("momentum", c.Momentum, 1), positive("weight_decay", c.WeightDecay, inf),
		positive("clip_norm", c.ClipNorm, inf),
	); err != nil {
		return err
	}
	for _, g := range c.Groups {
		if err := positive("scale of group "+g.Prefix, g.Scale, inf); err != nil {
			return err
		}
	}
	if c.Nesterov && (c.Method != SGD || c.Momentum == 0) {
		return errors.New("optimizer: nesterov needs sgd with momentum")
	}
	return c.Schedule.check()
}

// Steps is the number of steps taken.
func (o *Optimizer) Steps() int { return o.step }

// Rate is the common rate of the next step.
func (o *Optimizer) Rate() float64 { return o.cfg.Rate * o.cfg.Schedule.Factor(o.step) }

// GradientStats describes one step.
type GradientStats struct {
	Rate     float64 // common rate that was used
	GradNorm float64 // global norm of the gradients before clipping
}

// Step updates all parameters once. If a gradient holds NaN or infinity,
// GradNorm is not finite and nothing is changed.
func (o *Optimizer) Step() GradientStats {
	st := GradientStats{Rate: o.Rate(), GradNorm: o.GradNorm()}
	if math.IsNaN(st.GradNorm) || math.IsInf(st.GradNorm, 0) {
		return st
	}
	o.step++
	u, c := &o.task, &o.cfg
	u.cfg, u.clip = c, 1
	if c.ClipNorm > 0 && st.GradNorm > c.ClipNorm {
		u.clip = float32(c.ClipNorm / (st.GradNorm + 1e-6)) // PyTorch's clip_grad_norm_
	}
	u.rate = st.Rate
	u.bias1 = 1 - math.Pow(c.Beta1, float64(o.step))
	u.bias2 = 1 - math.Pow(c.Beta2, float64(o.step))
	u.norms = false
	par.Do(len(u.chunks), u)
	o.stepOnDevice()
	return st
}

// GradNorm is the Euclidean norm of all gradients taken together.
func (o *Optimizer) GradNorm() float64 {
	u := &o.task
	u.norms = true
	par.Do(len(u.chunks), u)
	var sum float64
	for _, s := range u.sums {
		sum += s
	}
	if o.device != nil {
		sum += o.device.SquareSum()
	}
	return math.Sqrt(sum)
}

// State copies the step count and the moments, in the network's own layout.
func (o *Optimizer) State() *safetensors.File {
	if o.device != nil {
		o.copyMoments(o.device.Moments)
	}
	f := &safetensors.File{Meta: map[string]string{"optimizer": string(o.cfg.Method)}}
	f.Tensors = append(f.Tensors, safetensors.Int64("step", nil, []int64{int64(o.step)}))
	o.forEachMoment(func(name string, v []float32) error {
		f.Tensors = append(f.Tensors, safetensors.Float32(name, []int{len(v)}, v))
		return nil
	})
	return f
}

// forEachMoment calls f with the name and values of every state vector.
func (o *Optimizer) forEachMoment(f func(name string, v []float32) error) error {
	for _, p := range o.params {
		for _, s := range []struct {
			suffix string
			v      []float32
		}{{".m", p.m}, {".v", p.v}} {
			if s.v == nil {
				continue
			}
			if err := f(p.Name+s.suffix, s.v); err != nil {
				return err
			}
		}
	}
	return nil
}

// SetState restores what State returned, to the bit. The optimizer must have
// the same method and parameters; on error its state is undefined.
func (o *Optimizer) SetState(f *safetensors.File) error {
	if got := f.Meta["optimizer"]; got != string(o.cfg.Method) {
		return fmt.Errorf("optimizer state: saved by %q, not %q", got, o.cfg.Method)
	}
	t := f.Tensor("step")
	if t == nil {
		return errors.New("optimizer state: no step count")
	}
	n, err := t.Int64s()
	if err != nil {
		return err
	}
	if len(n) != 1 || n[0] < 0 {
		return fmt.Errorf("optimizer state: step count %v", n)
	}
	count := 1
	err = o.forEachMoment(func(name string, v []float32) error {
		t := f.Tensor(name)
		if t == nil {
			return fmt.Errorf("optimizer state: %s is missing", name)
		}
		x, err := t.Float32s()
		if err != nil {
			return err
		}
		if len(x) != len(v) {
			return fmt.Errorf("optimizer state: %s has %d values, not %d", name, len(x), len(v))
		}
		copy(v, x)
		count++
		return nil
	})
	if err != nil {
		return err
	}
	if count != len(f.Tensors) {
		return fmt.Errorf("optimizer state: %d tensors, %d of them of this network", len(f.Tensors), count)
	}
	o.step = int(n[0])
	if o.device != nil {
		o.copyMoments(o.device.SetMoments)
	}
	return nil
}
