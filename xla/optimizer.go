package xla

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
)

// A Net is the optim.Device of its trained parameters.
var _ optim.Device = (*Net)(nil)

// Holds tells whether the parameter is a trained parameter of the network.
func (e *Net) Holds(p *nn.Param) bool { return e.moved[p] != nil }

// SquareSum is the sum of the squares of the gradients of the last Backward.
func (e *Net) SquareSum() float64 {
	sum := make([]float32, 1)
	_ = e.first(func(r *replica) error { // Err keeps it
		var args []any
		for _, p := range e.params {
			if g := r.state[p.at].grad; p.trained() && g != nil {
				args = append(args, g)
			}
		}
		if len(args) == 0 {
			return nil
		}
		out, err := r.squares.CallOnDevice(r.Number, args...)
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

// moments is how many a parameter has.
func moments(c *optim.Config) int {
	switch {
	case c.Method != optim.SGD:
		return 2
	case c.Momentum > 0:
		return 1
	}
	return 0
}

// Move takes a step of the optimizer, the same on every device.
func (e *Net) Move(m optim.Move) {
	if e.err != nil {
		return
	}
	for _, r := range e.replicas {
		if r.update == nil { // of all devices of a backend
			config := m.Config
			if r.update, e.err = newProgram(r.Backend, "update", func(in []*tensor) []*tensor {
				return updateGraph(&config, in)
			}); e.err != nil {
				return
			}
		}
	}
	step := []float32{float32(m.Clip), float32(1 / math.Sqrt(m.Bias2)), float32(1 / m.Bias1)}
	var moved []*held
	for _, r := range m.Params {
		step = append(step, float32(r.Rate), float32(r.Decay))
		moved = append(moved, e.moved[r.Param])
	}
	count := moments(&m.Config)
	_ = e.all(func(_ int, r *replica) error { // Err keeps it
		numbers, err := upload(r.Device, step, len(step))
		if err != nil {
			return err
		}
		defer release(numbers)
		args := []any{numbers}
		for _, p := range moved {
			s := &r.state[p.at]
			if err := r.start(p, count); err != nil {
				return err
			}
			for _, t := range []*tensors.Tensor{s.value, s.grad, s.m, s.v}[:2+count] {
				args = append(args, t)
			}
		}
		out, err := r.update.CallOnDevice(r.Number, args...)
		if err != nil {
			return err
		}
		for _, p := range moved {
			s := &r.state[p.at]
			for _, t := range []**tensors.Tensor{&s.value, &s.m, &s.v}[:1+count] {
				replace(t, out[0])
				out = out[1:]
			}
		}
		return nil
	})
}

// start gives a parameter moments of zero, if it has none yet.
func (r *replica) start(p *held, count int) (err error) {
	s := &r.state[p.at]
	for _, t := range []**tensors.Tensor{&s.m, &s.v}[:count] {
		if *t == nil && err == nil {
			*t, err = upload(r.Device, make([]float32, p.size), p.size)
		}
	}
	return err
}

// updateGraph is optim.Move: for each parameter its value, gradient and moments go
// in, its value and moments come out.
func updateGraph(c *optim.Config, in []*tensor) []*tensor {
	step, in := in[0], in[1:]
	number := func(i int) *tensor { return graph.Reshape(graph.Slice(step, graph.AxisRange(i, i+1))) }
	var out []*tensor
	count := moments(c)
	for i := 0; len(in) > 0; i++ {
		w, g, state := in[0], in[1], in[2:2+count]
		in = in[2+count:]
		rate, decay := number(numbers+2*i), number(numbers+2*i+1)
		g = graph.Mul(g, number(clipNumber))
		if c.Method != optim.AdamW {
			g = graph.Add(g, graph.Mul(w, decay))
		}
		switch {
		case c.Method == optim.SGD && count == 0:
			out = append(out, graph.Sub(w, graph.Mul(g, rate)))
		case c.Method == optim.SGD:
			b := graph.Add(graph.MulScalar(state[0], c.Momentum), g)
			d := b
			if c.Nesterov {
				d = graph.Add(g, graph.MulScalar(b, c.Momentum))
			}
			out = append(out, graph.Sub(w, graph.Mul(d, rate)), b)
		default:
			m := graph.Add(state[0], graph.MulScalar(graph.Sub(g, state[0]), 1-c.Beta1))
			v := graph.Add(state[1], graph.MulScalar(graph.Sub(graph.Square(g), state[1]), 1-c.Beta2))
			if c.Method == optim.AdamW {
				w = graph.Sub(w, graph.Mul(w, graph.Mul(rate, decay)))
			}
			by := graph.AddScalar(graph.Mul(graph.Sqrt(v), number(rootNumber)), c.Eps)
			out = append(out, graph.Sub(w, graph.Mul(graph.Div(m, by), graph.Mul(rate, number(biasNumber)))), m, v)
		}
	}
	return out
}

// Moments copies the moments of a parameter to the host.
func (e *Net) Moments(p *nn.Param, m, v []float32) {
	_ = e.first(func(r *replica) error { // Err keeps it
		s := &r.state[e.moved[p].at]
		for _, x := range []struct {
			t  *tensors.Tensor
			to []float32
		}{{s.m, m}, {s.v, v}} {
			if x.t == nil { // no step was taken yet
				clear(x.to)
			} else if x.to != nil {
				if err := download(r.Device, x.t, x.to); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// SetMoments copies them to the devices.
func (e *Net) SetMoments(p *nn.Param, m, v []float32) {
	_ = e.all(func(_ int, r *replica) error { // Err keeps it
		s := &r.state[e.moved[p].at]
		for _, x := range []struct {
			t    **tensors.Tensor
			from []float32
		}{{&s.m, m}, {&s.v, v}} {
			if x.from == nil {
				continue
			}
			t, err := upload(r.Device, x.from, len(x.from))
			if err != nil {
				return err
			}
			replace(x.t, t)
		}
		return nil
	})
}
