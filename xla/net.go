package xla

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
)

// held is a parameter on the device.
type held struct {
	*nn.Param
	size  int
	value *tensors.Tensor
	grad  *tensors.Tensor // of the last Backward
	m, v  *tensors.Tensor // the optimizer's moments
}

// trained tells whether the parameter has a gradient.
func (p *held) trained() bool { return p.Grad != nil && !p.Buffer && !p.Frozen }

// Net runs and trains a network of package nn on a device. It is a train.Network:
// images and the gradient of their embeddings go up, embeddings come down, and all
// else stays where it is. The parameters of the nn.Net that it was made from are the
// host's copy of its own; Pull and Push carry them over.
//
// The methods of a train.Network have no error: after the first failure they compute
// nothing, and Err says what it was. A Net is used by one goroutine at a time.
type Net struct {
	net     *nn.Net
	seed    uint64
	half    bool
	fixed   bool // batch norm takes the running statistics in training too
	backend compute.Backend
	plan    *plan
	params  []*held
	moved   map[*nn.Param]*held // those that are trained

	infer, forward, backward, squares *graph.Exec
	update                            *graph.Exec

	keys  *tensors.Tensor   // of the pass under way
	x     *tensors.Tensor   // its images
	saved []*tensors.Tensor // what it left for Backward
	rows  int               // images of the largest batch that Infer has seen
	out   mat.Dense
	err   error
}

// Options say how a network is run.
type Options struct {
	// Seed is that of the network's nn.Options: it determines what dropout drops.
	Seed uint64
	// FrozenNorm is as in nn.Options.
	FrozenNorm bool
	// Precision of products and of what flows between layers; weights, norms and the
	// optimizer's moments are float32 in any case.
	Precision nn.Precision
}

// New puts a network on a device.
func New(backend compute.Backend, net *nn.Net, opt Options) (*Net, error) {
	e := &Net{net: net, seed: opt.Seed, half: opt.Precision == nn.BFloat16, fixed: opt.FrozenNorm,
		backend: backend, moved: map[*nn.Param]*held{}}
	byName := map[string]*held{}
	for _, p := range net.Params() {
		h := &held{Param: p, size: len(p.Value)}
		e.params = append(e.params, h)
		byName[p.Name] = h
		if h.trained() {
			e.moved[p] = h
		}
	}
	var err error
	if e.plan, err = flatten(net.Spec(), byName); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		exec **graph.Exec
		name string
		f    func([]*tensor) []*tensor
	}{
		{&e.infer, "infer", e.inferGraph}, {&e.forward, "forward", e.forwardGraph},
		{&e.backward, "backward", e.backwardGraph}, {&e.squares, "squares", squaresGraph},
	} {
		if *x.exec, err = graph.NewExec(backend, x.f); err != nil {
			return nil, brief(err)
		}
		(*x.exec).WithName(x.name)
	}
	return e, e.Push()
}

// Backend is what the network runs on.
func (e *Net) Backend() compute.Backend { return e.backend }

// Err is the first failure of the device, or nil.
func (e *Net) Err() error { return e.err }

// fail keeps the first failure.
func (e *Net) fail(err error) {
	if e.err == nil && err != nil {
		e.err = fmt.Errorf("%s: %w", e.backend.Name(), brief(err))
	}
}

// Push copies the host's parameters to the device.
func (e *Net) Push() error {
	for _, p := range e.params {
		release(p.value)
		p.value = tensors.FromFlatDataAndDimensions(p.Value, p.size)
	}
	return e.err
}

// Pull copies the device's parameters to the host.
func (e *Net) Pull() error {
	for _, p := range e.params {
		e.copyOut(p.value, p.Value)
	}
	return e.err
}

// PullGradients copies the gradients of the last Backward to the host's Params,
// which training does not need.
func (e *Net) PullGradients() error {
	for _, p := range e.params {
		if p.trained() && p.grad != nil {
			e.copyOut(p.grad, p.Grad)
		}
	}
	return e.err
}

// copyOut copies a tensor into to.
func (e *Net) copyOut(t *tensors.Tensor, to []float32) {
	if e.err != nil {
		return
	}
	e.fail(tensors.ConstFlatData(t, func(v []float32) { copy(to, v) }))
}

// call runs a graph.
func (e *Net) call(x *graph.Exec, args []any) []*tensors.Tensor {
	if e.err != nil {
		return nil
	}
	out, err := x.Call(args...)
	e.fail(err)
	return out
}

// arguments are the parameters and what follows.
func (e *Net) arguments(rest ...any) []any {
	args := make([]any, 0, len(e.params)+len(rest))
	for _, p := range e.params {
		args = append(args, p.value)
	}
	return append(args, rest...)
}

func (e *Net) images(x []float32, n int) *tensors.Tensor {
	in := e.net.Spec().Input
	if n < 1 || len(x) != n*in.Len() {
		panic(fmt.Sprintf("xla: %d values for %d images of %d x %d x %d", len(x), n, in.H, in.W, in.C))
	}
	return tensors.FromFlatDataAndDimensions(x, n, in.H, in.W, in.C)
}

// Forward computes the embeddings of n images in training mode; see nn.Net.Forward.
func (e *Net) Forward(x []float32, n int) *mat.Dense {
	e.forget()
	base := mixed(mixed(e.seed) ^ e.net.Step())
	keys := make([]uint64, len(e.plan.nodes))
	for i := range keys {
		keys[i] = mixed(base ^ e.plan.nodes[i].count)
	}
	e.net.SetStep(e.net.Step() + 1)
	e.keys, e.x = tensors.FromFlatDataAndDimensions(keys, len(keys)), e.images(x, n)
	out := e.call(e.forward, e.arguments(e.keys, e.x))
	if e.err != nil {
		return e.nothing(n)
	}
	emb, out := out[0], out[1:]
	for i := range e.plan.nodes {
		if e.moves(i) {
			p := e.plan.nodes[i].params
			release(p[2].value)
			release(p[3].value)
			p[2].value, p[3].value, out = out[0], out[1], out[2:]
		}
	}
	e.saved = slices.Clone(out)
	return e.embeddings(emb, n, n)
}

// embeddings brings down the first n of the rows of t.
func (e *Net) embeddings(t *tensors.Tensor, rows, n int) *mat.Dense {
	dim := e.net.Dim()
	v := make([]float32, rows*dim)
	e.copyOut(t, v)
	release(t)
	e.out = mat.Dense{Rows: n, Cols: dim, Stride: dim, Data: v[:n*dim]}
	return &e.out
}

// nothing is what a failed pass returns.
func (e *Net) nothing(n int) *mat.Dense { return mat.New(n, e.net.Dim()) }

// Backward takes the gradient of the loss by what the last Forward returned. The
// parameters' gradients stay on the device.
func (e *Net) Backward(grad *mat.Dense) {
	if e.err != nil {
		return
	}
	if e.x == nil {
		panic("xla: Backward without a Forward before it")
	}
	dE := make([]float32, 0, grad.Rows*grad.Cols)
	for i := range grad.Rows {
		dE = append(dE, grad.Row(i)...)
	}
	args := e.arguments(e.keys, e.x)
	for _, s := range e.saved {
		args = append(args, s)
	}
	out := e.call(e.backward, append(args, tensors.FromFlatDataAndDimensions(dE, grad.Rows, grad.Cols)))
	e.forget()
	if e.err != nil {
		return
	}
	for _, p := range e.params {
		if p.trained() {
			release(p.grad)
			p.grad, out = out[0], out[1:]
		}
	}
}

// forget lets go of what a Forward left.
func (e *Net) forget() {
	for _, s := range e.saved {
		release(s)
	}
	release(e.keys)
	release(e.x)
	e.saved, e.keys, e.x = nil, nil, nil
}

// Infer computes the embeddings of n images in evaluation mode. A batch smaller
// than an earlier one is filled up, so that no other graph has to be compiled.
func (e *Net) Infer(x []float32, n int) *mat.Dense {
	e.forget()
	e.rows = max(e.rows, n)
	if n < e.rows {
		x = append(slices.Clone(x), make([]float32, (e.rows-n)*e.net.Spec().Input.Len())...)
	}
	images := e.images(x, e.rows)
	out := e.call(e.infer, e.arguments(images))
	release(images)
	if e.err != nil {
		return e.nothing(n)
	}
	return e.embeddings(out[0], e.rows, n)
}

// Params lists the host's copies; see Pull.
func (e *Net) Params() []*nn.Param { return e.net.Params() }

// Dim is the length of an embedding.
func (e *Net) Dim() int { return e.net.Dim() }

// Step is the number of training passes so far, and SetStep restores it.
func (e *Net) Step() uint64     { return e.net.Step() }
func (e *Net) SetStep(n uint64) { e.net.SetStep(n) }

func release(t *tensors.Tensor) {
	if t != nil {
		_ = t.FinalizeAll() // what cannot be freed is the collector's
	}
}
