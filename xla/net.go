package xla

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// set is a part of a network's parameters. On a device those of a set lie behind one
// another in one vector: what a step costs beside computing grows with the number of
// tensors that it takes and makes.
type set int

const (
	trained set = iota // those with a gradient
	running            // batch norm's statistics
	frozen             // all others
	sets
)

// held is a parameter with a copy on every device.
type held struct {
	*nn.Param
	set      set
	size, at int // at is where it begins in its set
}

// sliceOf is the parameter's piece of its set.
func (p *held) sliceOf(v []float32) []float32 { return v[p.at : p.at+p.size] }

func setOf(p *nn.Param) set {
	switch {
	case p.Buffer:
		return running
	case p.Grad != nil && !p.Frozen:
		return trained
	}
	return frozen
}

// Net runs and trains a network of package nn on a device. It is a train.Remote: images
// and the gradient of their embeddings go to the device, embeddings come back, and all
// else stays there. The parameters of the nn.Net that it was made from are the host's
// copy; Pull and Push copy them.
//
// With several devices, each embeds a piece of the batch, as equal in size as possible,
// and takes the same step of the optimizer with the sum of all gradients, which is
// formed on the host. Except for rounding, training is the same as on one device,
// unless batch norm uses the batch's statistics: it then uses those of each device's
// piece, and the running statistics move by their mean, weighted by the numbers of
// images.
//
// The methods of a train.Network return no error: after the first failure they compute
// nothing, and Err returns it. Only one goroutine at a time may use a Net, except for
// Stage.
type Net struct {
	net      *nn.Net
	seed     uint64
	half     bool
	fixed    bool // batch norm takes the running statistics in training too
	pixels   prepare.Normalization
	plan     *plan
	params   []*held
	moved    map[*nn.Param]*held // those that are trained
	values   [sets]int           // how many each has
	replicas []*replica

	pass    *staged // whose forward pass is under way
	moments moments // the host's copy
	out     matrix.Dense
	err     error
}

// Options say how to run a network.
type Options struct {
	// Seed is the seed of the network's nn.Options: it determines the values that
	// dropout drops.
	Seed uint64
	// FrozenNorm is as in nn.Options.
	FrozenNorm bool
	// Precision of products and of activations between layers; weights, norms and the
	// optimizer's moments are always float32.
	Precision nn.Precision
	// Pixels says how images given as bytes are normalised; the zero value maps to 0 to
	// 1.
	Pixels prepare.Normalization
}

// New puts a network on one or more devices.
func New(devices []Device, net *nn.Net, opt Options) (*Net, error) {
	if len(devices) == 0 {
		return nil, errors.New("no device to put the network on")
	}
	e := &Net{net: net, seed: opt.Seed, half: opt.Precision == nn.BFloat16, fixed: opt.FrozenNorm,
		pixels: opt.Pixels, moved: map[*nn.Param]*held{}}
	byName := map[string]*held{}
	for _, p := range net.Params() {
		h := &held{Param: p, set: setOf(p), size: len(p.Value)}
		h.at = e.values[h.set]
		e.values[h.set] += h.size
		e.params = append(e.params, h)
		byName[p.Name] = h
		if h.set == trained {
			e.moved[p] = h
		}
	}
	var err error
	if e.plan, err = planOf(net.Spec(), byName); err != nil {
		return nil, err
	}
	compiled := map[compute.Backend]*programs{}
	for i, d := range devices {
		r := &replica{Device: d, name: d.Backend.Name()}
		if len(devices) > 1 {
			r.name = fmt.Sprintf("%s, device %d", r.name, i)
		}
		if compiled[d.Backend] == nil {
			if compiled[d.Backend], err = e.programs(d.Backend); err != nil {
				return nil, brief(err)
			}
		}
		r.programs = compiled[d.Backend]
		e.replicas = append(e.replicas, r)
	}
	return e, e.Push()
}

// programs are the graphs that need no more than the network.
func (e *Net) programs(b compute.Backend) (*programs, error) {
	p := &programs{}
	var errs [4]error
	p.infer, errs[0] = newProgram(b, "infer", e.inferGraph)
	p.forward, errs[1] = newProgram(b, "forward", e.forwardGraph)
	p.backward, errs[2] = newProgram(b, "backward", e.backwardGraph)
	p.squares, errs[3] = newProgram(b, "squares", squaresGraph)
	return p, errors.Join(errs[:]...)
}

// Devices returns the devices of the network.
func (e *Net) Devices() []Device {
	var list []Device
	for _, r := range e.replicas {
		list = append(list, r.Device)
	}
	return list
}

// Err is the first failure of a device, or nil.
func (e *Net) Err() error { return e.err }

// each does something on every device at the same time, and returns the first one's
// error.
func (e *Net) each(do func(i int, r *replica) error) error {
	errs := make([]error, len(e.replicas))
	var open sync.WaitGroup
	for i, r := range e.replicas {
		open.Go(func() { errs[i] = guarded(func() error { return do(i, r) }) })
	}
	open.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", e.replicas[i].name, brief(err))
		}
	}
	return nil
}

// all is each, which keeps the first failure and does nothing after it.
func (e *Net) all(do func(i int, r *replica) error) error {
	if e.err == nil {
		e.err = e.each(do)
	}
	return e.err
}

// first does something on the first device alone: all have the same parameters.
func (e *Net) first(do func(r *replica) error) error {
	return e.all(func(i int, r *replica) error {
		if i > 0 {
			return nil
		}
		return do(r)
	})
}

// Push copies the host's parameters to the devices.
func (e *Net) Push() error {
	host := e.gather(func(p *held) []float32 { return p.Value })
	return e.all(func(_ int, r *replica) (err error) {
		for k, v := range host {
			if len(v) > 0 && err == nil {
				err = r.renew(&r.values[k], v)
			}
		}
		return err
	})
}

// gather puts something of all parameters one behind the other, set by set.
func (e *Net) gather(what func(p *held) []float32) (out [sets][]float32) {
	for k := range out {
		out[k] = make([]float32, e.values[k])
	}
	for _, p := range e.params {
		copy(p.sliceOf(out[p.set]), what(p))
	}
	return out
}

// renew replaces a vector on a device.
func (r *replica) renew(at **tensors.Tensor, v []float32) error {
	t, err := upload(r.Device, v, len(v))
	if err == nil {
		replace(at, t)
	}
	return err
}

// Pull copies the devices' parameters to the host.
func (e *Net) Pull() error {
	return e.first(func(r *replica) error {
		for k, t := range r.values {
			if err := e.scatter(r, t, set(k), func(p *held) []float32 { return p.Value }); err != nil {
				return err
			}
		}
		return nil
	})
}

// PullGradients copies the gradients of the last Backward to the host's Params.
// Training does not need it.
func (e *Net) PullGradients() error {
	return e.first(func(r *replica) error {
		return e.scatter(r, r.grad, trained, func(p *held) []float32 { return p.Grad })
	})
}

// scatter copies a vector, if there is one, to what the host has of a set's parameters.
func (e *Net) scatter(r *replica, t *tensors.Tensor, k set, to func(p *held) []float32) error {
	if t == nil {
		return nil
	}
	v := make([]float32, e.values[k])
	if err := download(r.Device, t, v); err != nil {
		return err
	}
	for _, p := range e.params {
		if p.set == k {
			copy(to(p), p.sliceOf(v))
		}
	}
	return nil
}

// here is the images staged for a method that has none beforehand.
func (e *Net) here(x []float32, n int, training bool) *staged {
	if in := e.net.Spec().Input; n < 1 || len(x) != n*in.Len() {
		panic(fmt.Sprintf("xla: %d values for %d images of %d x %d x %d", len(x), n, in.H, in.W, in.C))
	}
	if e.err != nil {
		return nil
	}
	s, err := e.stage(x, nil, n, training)
	e.err = err
	return s
}

// Forward computes the embeddings of n images in training mode; see nn.Net.Forward.
func (e *Net) Forward(x []float32, n int) *matrix.Dense {
	s := e.here(x, n, true)
	if s == nil {
		return e.nothing(n)
	}
	return s.Forward()
}

// Infer computes the embeddings of n images in evaluation mode.
func (e *Net) Infer(x []float32, n int) *matrix.Dense {
	s := e.here(x, n, false)
	if s == nil {
		return e.nothing(n)
	}
	defer s.Release()
	return s.Infer()
}

func (e *Net) forwardStaged(s *staged) *matrix.Dense {
	e.forget()
	e.pass = s
	base := mixed(mixed(e.seed) ^ e.net.Step())
	e.net.SetStep(e.net.Step() + 1)
	out := e.embeddings(s.n)
	err := e.all(func(i int, r *replica) error {
		p := &s.parts[i]
		if p.n == 0 {
			return nil
		}
		keys := make([]uint64, 0, len(e.plan.nodes)+1)
		for i := range e.plan.nodes {
			keys = append(keys, mixed(base^e.plan.nodes[i].count))
		}
		var err error
		if r.keys, err = upload(r.Device, append(keys, uint64(p.first)), len(keys)+1); err != nil {
			return err
		}
		made, err := r.run(r.forward, r.keys, p.x)
		if err != nil {
			return err
		}
		r.saved = made[1:]
		defer release(made[0])
		return download(r.Device, made[0], out.Data[p.first*out.Cols:(p.first+p.n)*out.Cols])
	})
	if err == nil {
		err = e.settleNorms(s)
	}
	if err != nil {
		return e.nothing(s.n)
	}
	return out
}

// settleNorms moves the running statistics of batch norm: on one device by what it
// made, and on several by the mean of what they made of their pieces.
func (e *Net) settleNorms(s *staged) error {
	if !e.norms() {
		return nil
	}
	if len(e.replicas) == 1 {
		r := e.replicas[0]
		replace(&r.values[running], r.saved[0])
		r.saved = r.saved[1:]
		return nil
	}
	parts := make([][]float32, len(e.replicas))
	err := e.all(func(i int, r *replica) error {
		if s.parts[i].n == 0 {
			return nil
		}
		parts[i] = make([]float32, e.values[running])
		err := download(r.Device, r.saved[0], parts[i])
		replace(&r.saved[0], nil)
		r.saved = r.saved[1:]
		return err
	})
	if err != nil {
		return err
	}
	mean := make([]float32, e.values[running])
	for j := range mean {
		var sum float64
		for i, v := range parts {
			if v != nil {
				sum += float64(v[j]) * float64(s.parts[i].n) / float64(s.n)
			}
		}
		mean[j] = float32(sum)
	}
	return e.all(func(_ int, r *replica) error { return r.renew(&r.values[running], mean) })
}

// norms tells whether training moves running statistics.
func (e *Net) norms() bool {
	for i := range e.plan.nodes {
		if e.moves(i) {
			return true
		}
	}
	return false
}

// embeddings is room for those of n images.
func (e *Net) embeddings(n int) *matrix.Dense {
	dim := e.net.Dim()
	if cap(e.out.Data) < n*dim {
		e.out.Data = make([]float32, n*dim)
	}
	e.out = matrix.Dense{Rows: n, Cols: dim, Stride: dim, Data: e.out.Data[:n*dim]}
	return &e.out
}

// nothing is what a failed pass returns.
func (e *Net) nothing(n int) *matrix.Dense { return matrix.New(n, e.net.Dim()) }

// Backward takes the gradient of the loss with respect to the embeddings of the last
// Forward. The parameters' gradients stay on the device; with several, each keeps their
// sum.
func (e *Net) Backward(grad *matrix.Dense) {
	if e.err != nil {
		return
	}
	if e.pass == nil {
		panic("xla: Backward without a Forward before it")
	}
	if e.values[trained] == 0 {
		e.forget()
		return
	}
	err := e.all(func(i int, r *replica) error {
		p := &e.pass.parts[i]
		if p.n == 0 {
			return nil
		}
		dE := make([]float32, 0, p.n*grad.Cols)
		for k := range p.n {
			dE = append(dE, grad.Row(p.first+k)...)
		}
		slope, err := upload(r.Device, dE, p.n, grad.Cols)
		if err != nil {
			return err
		}
		defer release(slope)
		args := append([]*tensors.Tensor{r.keys, p.x}, r.saved...)
		made, err := r.run(r.backward, append(args, slope)...)
		if err != nil {
			return err
		}
		replace(&r.grad, made[0])
		return nil
	})
	if err == nil && len(e.replicas) > 1 {
		_ = e.sumGradients() // which Err keeps
	}
	e.forget()
}

// sumGradients gives every device the sum of all devices' gradients, added in their
// order.
func (e *Net) sumGradients() error {
	parts := make([][]float32, len(e.replicas))
	err := e.all(func(i int, r *replica) error {
		if e.pass.parts[i].n == 0 {
			return nil
		}
		parts[i] = make([]float32, e.values[trained])
		return download(r.Device, r.grad, parts[i])
	})
	if err != nil {
		return err
	}
	sum := make([]float32, e.values[trained])
	par.For(len(sum), 1<<14, func(lo, hi int) {
		for _, g := range parts {
			if g == nil {
				continue
			}
			for j := lo; j < hi; j++ {
				sum[j] += g[j]
			}
		}
	})
	return e.all(func(_ int, r *replica) error { return r.renew(&r.grad, sum) })
}

// forget lets go of what a Forward left.
func (e *Net) forget() {
	for _, r := range e.replicas {
		r.forget()
	}
	if e.pass != nil {
		e.pass.free()
	}
	e.pass = nil
}

func (e *Net) inferStaged(s *staged) *matrix.Dense {
	e.forget()
	out := e.embeddings(s.n)
	err := e.all(func(i int, r *replica) error {
		p := &s.parts[i]
		if p.n == 0 {
			return nil
		}
		made, err := r.run(r.infer, p.x)
		if err != nil {
			return err
		}
		defer release(made[0])
		v := make([]float32, p.x.Shape().Dimensions[0]*out.Cols)
		if err := download(r.Device, made[0], v); err != nil {
			return err
		}
		copy(out.Data[p.first*out.Cols:], v[:p.n*out.Cols])
		return nil
	})
	if err != nil {
		return e.nothing(s.n)
	}
	return out
}

// Params lists the host's copies of the parameters; see Pull.
func (e *Net) Params() []*nn.Param { return e.net.Params() }

// Dim is the length of an embedding.
func (e *Net) Dim() int { return e.net.Dim() }

// Step is the number of training passes so far, and SetStep restores it.
func (e *Net) Step() uint64     { return e.net.Step() }
func (e *Net) SetStep(n uint64) { e.net.SetStep(n) }

// A Net computes elsewhere.
var _ train.Remote = (*Net)(nil)
