package xla

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// A Net is the optim.Device of its trained parameters.
var _ train.OptimizerDevice = (*Net)(nil)

// Holds tells whether the parameter is a trained parameter of the network.
func (e *Net) Holds(p *nn.Param) bool { return e.moved[p] != nil }

// SquareSum is the sum of the squares of the gradients of the last Backward.
func (e *Net) SquareSum() float64 {
	sum := make([]float32, 1)
	_ = e.first(func(r *replica) error { // Err keeps it
		if r.grad == nil {
			return nil
		}
		out, err := r.squares.CallOnDevice(r.Number, r.grad)
		if err != nil {
			return err
		}
		defer release(out[0])
		return download(r.Device, out[0], sum)
	})
	return float64(sum[0])
}

// Numbers of a step that the graph of the update is given, before a rate and a decay
// for each parameter.
const (
	clipNumber = iota
	rootNumber // 1 / sqrt(1 - beta2^t)
	biasNumber // 1 / (1 - beta1^t)
	numbers
)

// momentCount is how many a parameter has.
func momentCount(c *train.OptimizerConfig) int {
	switch {
	case c.Method != train.SGD:
		return 2
	case c.Momentum > 0:
		return 1
	}
	return 0
}

// TakeStep takes a step of the optimizer, the same on every device.
func (e *Net) TakeStep(m train.DeviceStep) {
	if e.err != nil || e.values[trained] == 0 {
		return
	}
	for _, r := range e.replicas {
		if r.update == nil { // of all devices of a backend
			config := m.OptimizerConfig
			if r.update, e.err = newProgram(r.Backend, "update", func(in []*tensor) []*tensor {
				return updateGraph(&config, in)
			}); e.err != nil {
				return
			}
		}
	}
	step := []float32{float32(m.Clip), float32(1 / math.Sqrt(m.Bias2)), float32(1 / m.Bias1)}
	rules := map[*held]train.ParamStep{}
	for _, r := range m.Params {
		rules[e.moved[r.Param]] = r
	}
	for _, p := range e.params {
		if p.set == trained { // without a rule it stays as it is
			step = append(step, float32(rules[p].Rate), float32(rules[p].Decay))
		}
	}
	count := momentCount(&m.OptimizerConfig)
	_ = e.all(func(_ int, r *replica) error { // Err keeps it
		numbers, err := upload(r.Device, step, len(step))
		if err != nil {
			return err
		}
		defer release(numbers)
		if err := e.start(r, count); err != nil {
			return err
		}
		args := []any{numbers, r.rule}
		for _, t := range []*tensors.Tensor{r.values[trained], r.grad, r.m, r.v}[:2+count] {
			args = append(args, t)
		}
		out, err := r.update.CallOnDevice(r.Number, args...)
		if err != nil {
			return err
		}
		for k, t := range []**tensors.Tensor{&r.values[trained], &r.m, &r.v}[:1+count] {
			replace(t, out[k])
		}
		return nil
	})
	e.moments = moments{}
}

// start gives a device what updates take beside values and gradients: the moments that
// the host has, or zeros.
func (e *Net) start(r *replica, count int) error {
	if r.rule == nil {
		rule, k := make([]int32, e.values[trained]), int32(0)
		for _, p := range e.params {
			if p.set == trained {
				for j := range p.size {
					rule[p.at+j] = k
				}
				k++
			}
		}
		var err error
		if r.rule, err = upload(r.Device, rule, len(rule)); err != nil {
			return err
		}
	}
	for i, t := range []**tensors.Tensor{&r.m, &r.v}[:count] {
		v := e.moments.values(i)
		if *t != nil && !e.moments.set {
			continue
		}
		if v == nil {
			v = make([]float32, e.values[trained])
		}
		if err := r.renew(t, v); err != nil {
			return err
		}
	}
	return nil
}

// updateGraph is optim.Move. The numbers of the step, of each value the number of its
// parameter, the values, gradients and moments go in; values and moments come out.
func updateGraph(c *train.OptimizerConfig, in []*tensor) []*tensor {
	step, rule, w, g, state := in[0], graph.InsertAxes(in[1], -1), in[2], in[3], in[4:]
	number := func(i int) *tensor {
		return spread(graph.Slice(step, graph.AxisRange(i, i+1)), w)
	}
	rules := graph.Reshape(graph.Slice(step, graph.AxisRangeToEnd(numbers)), (step.Shape().Size()-numbers)/2, 2)
	each := func(k int) *tensor { // the rate or the decay of every value's parameter
		return graph.Gather(graph.Reshape(graph.Slice(rules, graph.AxisRange(), graph.AxisRange(k, k+1)),
			rules.Shape().Dimensions[0]), rule, true)
	}
	rate, decay := each(0), each(1)
	g = graph.Mul(g, number(clipNumber))
	if c.Method != train.AdamW {
		g = graph.Add(g, graph.Mul(w, decay))
	}
	switch {
	case c.Method == train.SGD && len(state) == 0:
		return []*tensor{graph.Sub(w, graph.Mul(g, rate))}
	case c.Method == train.SGD:
		b := graph.Add(graph.MulScalar(state[0], c.Momentum), g)
		d := b
		if c.Nesterov {
			d = graph.Add(g, graph.MulScalar(b, c.Momentum))
		}
		return []*tensor{graph.Sub(w, graph.Mul(d, rate)), b}
	}
	m := graph.Add(state[0], graph.MulScalar(graph.Sub(g, state[0]), 1-c.Beta1))
	v := graph.Add(state[1], graph.MulScalar(graph.Sub(graph.Square(g), state[1]), 1-c.Beta2))
	if c.Method == train.AdamW {
		w = graph.Sub(w, graph.Mul(w, graph.Mul(rate, decay)))
	}
	by := graph.AddScalar(graph.Mul(graph.Sqrt(v), number(rootNumber)), c.Eps)
	return []*tensor{graph.Sub(w, graph.Mul(graph.Div(m, by), graph.Mul(rate, number(biasNumber)))), m, v}
}

// moments are the host's copy of the optimizer's moments, which a step makes stale.
type moments struct {
	m, v []float32
	set  bool // SetMoments changed it, and the devices do not have it yet
}

func (m *moments) values(i int) []float32 { return [][]float32{m.m, m.v}[i] }

// Moments copies the moments of a parameter to the host.
func (e *Net) Moments(p *nn.Param, m, v []float32) {
	e.pullMoments()
	for i, to := range [][]float32{m, v} {
		if from := e.moments.values(i); from == nil { // no step was taken yet
			clear(to)
		} else {
			copy(to, e.moved[p].sliceOf(from))
		}
	}
}

// pullMoments makes the host's copy, unless there is one.
func (e *Net) pullMoments() {
	if e.moments.m != nil || e.moments.v != nil {
		return
	}
	_ = e.first(func(r *replica) error { // Err keeps it
		for i, t := range []*tensors.Tensor{r.m, r.v} {
			if t == nil {
				continue
			}
			to := []*[]float32{&e.moments.m, &e.moments.v}[i]
			*to = make([]float32, e.values[trained])
			if err := download(r.Device, t, *to); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetMoments sets them in the host's copy, which goes to the devices with the next step.
func (e *Net) SetMoments(p *nn.Param, m, v []float32) {
	e.pullMoments()
	for i, from := range [][]float32{m, v} {
		if from == nil {
			continue
		}
		to := []*[]float32{&e.moments.m, &e.moments.v}[i]
		if *to == nil {
			*to = make([]float32, e.values[trained])
		}
		copy(e.moved[p].sliceOf(*to), from)
		e.moments.set = true
	}
}
