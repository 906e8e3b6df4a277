package nn

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/network/attention"
	"github.com/kindred-ml/kindred/internal/network/conv"
	"github.com/kindred-ml/kindred/internal/network/qconv"
	"github.com/kindred-ml/kindred/matrix"
)

// Options say how a network is created and trained.
type Options struct {
	// Seed determines the initial weights and dropout.
	Seed uint64
	// Freeze lists prefixes of parameter names ("layer1", "conv1.weight").
	// Training leaves these parameters unchanged. A prefix ends at a dot in the
	// name.
	Freeze []string
	// FreezeBody trains only the head, and A and B of linear layers with Rank; see Spec.Body.
	FreezeBody bool
	// FrozenNorm makes training use the running statistics of batch norm, as
	// evaluation does, without updating them. The weights of batch norm are still
	// trained unless frozen by name.
	FrozenNorm bool
	// Precision is the arithmetic of products.
	Precision Precision
	// Quantization, of Int8, says what the bytes of each layer's output mean; see
	// Calibration.
	Quantization *Quantization
}

// Net runs and trains one network. It allocates buffers for the largest batch so
// far and reuses them. Only one goroutine at a time may use a Net, also while it reads
// a result: passes at the same time panic, and run.Model.Embed is for many goroutines.
// The work itself runs on all cores, with results that do not depend on their number.
type Net struct {
	spec   Spec
	opt    Options
	params []*Param
	byName map[string]*Param
	// bodyParams is how many of params, the first, belong to the body.
	bodyParams int

	train, eval  plan
	arena        []float32
	capacity     int // images that the arena holds
	perImage     int // its values for each
	images       int // of the last Forward, for Backward
	input        []float32
	ready        bool // Forward has run and Backward may
	stepCount    uint64
	first        int  // image of the batch that a pass begins with
	again        bool // the pass repeats one whose running statistics have been taken
	deferMoments bool // passes keep what would move the running statistics in held
	deferred     []float64

	graphs programs // that are ready to run

	busy atomic.Bool // a pass is under way

	packed   bool // the packed filters of 8-bit layers match params
	constant bool // the filters of others may be kept
	observe  func(s step, n int)

	rows  rowTask
	ws    conv.Workspace
	bytes qconv.Workspace
	heads attention.Workspace
	prof  *Profile
}

// plan is the list of steps of one mode.
type plan struct {
	steps   []step
	nodes   [][]int // of each step, as in Stage
	planner planner
	in, out *tensorRef
	size    int // arena per image
	bound   int // images that the buffers are cut for
	result  matrix.Dense
	eval    bool
}

// New creates a network with newly drawn weights. It is an error if the
// parameters and their gradients exceed the limit of package budget.
func New(spec *Spec, opt Options) (*Net, error) {
	precision, err := parsePrecision(string(opt.Precision))
	if err != nil {
		return nil, err
	}
	opt.Precision = precision
	g, err := spec.flatten()
	if err != nil {
		return nil, err
	}
	if opt.Precision == Int8 && g.hasAdapters() {
		return nil, fmt.Errorf("network %s: its linear layers have adapters (rank), which 8 bits do not: "+
			"merge them first", spec.Name)
	}
	if err := opt.checkQuantization(); err != nil {
		return nil, fmt.Errorf("network %s: %w", spec.Name, err)
	}
	if err := g.memory().check(spec.Name); err != nil {
		return nil, err
	}
	e := newNet(spec, opt, g, nil)
	if err := e.freeze(opt.Freeze); err != nil {
		return nil, err
	}
	for _, p := range e.params[:e.bodyParams] {
		p.Frozen = p.Frozen || opt.FreezeBody && !p.Buffer && !p.adapter
	}
	for _, p := range e.params {
		if !p.Frozen && !p.Buffer {
			p.Grad = make([]float32, len(p.Value))
		}
	}
	e.train = e.compile(g, true)
	e.eval = e.compile(g, false)
	return e, nil
}

// newNet lists the parameters: those of another network where it has them, else
// newly drawn ones.
func newNet(spec *Spec, opt Options, g *graph, others map[string]*Param) *Net {
	e := &Net{spec: *spec, opt: opt, byName: map[string]*Param{}, graphs: programs{}}
	e.ws.BFloat16 = opt.Precision == BFloat16
	e.heads.BFloat16 = e.ws.BFloat16
	head := headIndex(spec.Layers)
	for i := range g.nodes {
		for _, p := range g.params(i) {
			if q := others[p.Name]; q != nil {
				p = q
			} else {
				p.Value = make([]float32, p.len())
				p.initialize(opt.Seed)
			}
			e.params = append(e.params, p)
			e.byName[p.Name] = p
			if g.nodes[i].top < head {
				e.bodyParams++
			}
		}
	}
	return e
}

// Body returns the network without its head (see Spec.Body), for evaluation. It
// shares the parameters of e.
func (e *Net) Body() (*Net, error) { return e.subNet(e.spec.Body()) }

// Tail returns the head as a network (see Spec.Tail): from Body's output it
// computes e's output. It shares the parameters of e and their gradients, so
// training it trains e.
func (e *Net) Tail() (*Net, error) {
	spec, err := e.spec.Tail()
	opt := e.opt
	opt.Quantization = opt.Quantization.withoutRange(inputRange)
	return e.subNetWith(opt, spec, err)
}

// subNet is a network of some of the layers of e.
func (e *Net) subNet(spec *Spec, err error) (*Net, error) { return e.subNetWith(e.opt, spec, err) }

// subNetWith is part with other options.
func (e *Net) subNetWith(opt Options, spec *Spec, err error) (*Net, error) {
	if err != nil {
		return nil, err
	}
	g, err := spec.flatten()
	if err != nil {
		return nil, err
	}
	n := newNet(spec, opt, g, e.byName)
	n.train, n.eval = n.compile(g, true), n.compile(g, false)
	return n, nil
}

// freeze marks the parameters with the given prefixes.
func (e *Net) freeze(prefixes []string) error {
	for _, prefix := range prefixes {
		found := false
		for _, p := range e.params {
			rest, ok := strings.CutPrefix(p.Name, strings.TrimSuffix(prefix, "."))
			if ok && (rest == "" || rest[0] == '.') {
				found = true
				p.Frozen = p.Frozen || !p.Buffer
			}
		}
		if !found {
			return fmt.Errorf("nothing to freeze: no parameter of network %s starts with %q", e.spec.Name, prefix)
		}
	}
	return nil
}

// Spec returns the network's description, which must not be changed.
func (e *Net) Spec() *Spec { return &e.spec }

// Dim is the length of the embeddings.
func (e *Net) Dim() int { return e.train.out.shape.Len() }

// Params lists all parameters and running statistics in the order of the
// layers. Their values may be changed between calls.
func (e *Net) Params() []*Param { return e.params }

// Param returns the parameter with the given name, or nil.
func (e *Net) Param(name string) *Param { return e.byName[name] }

// Step is the number of training passes so far. Together with the seed it
// determines the values that dropout drops.
func (e *Net) Step() uint64 { return e.stepCount }

// SetStep restores the step count when training is resumed.
func (e *Net) SetStep(n uint64) { e.stepCount = n }

// Forward computes the embeddings of n images in training mode: batch norm uses
// the batch's own statistics and updates the running ones, dropout drops. x is
// n x H x W x C and must not change until Backward has returned. The result (n
// x Dim) is valid until the next call of Forward or Infer.
//
// Batch norm over a single value per channel has variance 0.
func (e *Net) Forward(x []float32, n int) *matrix.Dense {
	e.SetConstant(false)
	out := e.run(&e.train, x, n)
	e.images, e.input, e.ready, e.packed = n, x, true, false
	e.stepCount++
	return out
}

// SetConstant says whether the parameters stay as they are until it is called again.
// While they do, Infer keeps the filters of convolutions and linear layers as its kernels
// read them, instead of making them in each call, with the same results. This takes
// memory: at most that of the parameters once more, and four times that of 3 x 3
// convolutions. It is false at first, and after Forward and the reading of weights.
func (e *Net) SetConstant(constant bool) {
	if e.constant == constant {
		return
	}
	e.constant = constant
	for _, s := range e.eval.steps {
		switch s := s.(type) {
		case *convStep:
			s.filters = conv.Filters{Constant: constant}
		case *linearStep:
			s.filters = conv.Filters{Constant: constant}
		}
	}
}

// Infer computes the embeddings of n images in evaluation mode: running
// statistics, no dropout, batch norm folded into the convolutions. Backward then
// needs a new Forward.
func (e *Net) Infer(x []float32, n int) *matrix.Dense {
	e.ready = false
	e.pack()
	return e.run(&e.eval, x, n)
}

// enter begins a pass, which leave ends.
func (e *Net) enter() {
	if !e.busy.CompareAndSwap(false, true) {
		panic("nn: two goroutines use a Net at the same time")
	}
}

func (e *Net) leave() { e.busy.Store(false) }

func (e *Net) run(p *plan, x []float32, n int) *matrix.Dense {
	e.enter()
	defer e.leave()
	if n < 1 || len(x) != n*e.spec.Input.Len() {
		panic(fmt.Sprintf("nn: %d values for %d images of %s", len(x), n, e.spec.Input))
	}
	e.bind(p, n)
	p.in.x.data = x
	for i, s := range p.steps {
		e.prof.start()
		s.forward(e, n)
		e.prof.stop(p, i, s, n, false)
		if e.observe != nil {
			e.observe(s, n)
		}
	}
	dim := p.out.shape.Len()
	p.result = matrix.Dense{Rows: n, Cols: dim, Stride: dim, Data: p.out.x.data}
	return &p.result
}

// bind makes room for n images and cuts the plan's buffers.
func (e *Net) bind(p *plan, n int) {
	if n > e.capacity || p.size > e.perImage {
		e.capacity, e.perImage = max(n, e.capacity), max(p.size, e.perImage)
		e.arena = nil // let the old one go before the new one is made
		e.arena = make([]float32, e.capacity*e.perImage)
		e.train.bound, e.eval.bound = 0, 0
	}
	if p.bound != n {
		p.planner.bind(e.arena, e.capacity, n)
		p.bound = n
	}
}

// Backward takes the gradient of the loss with respect to the embeddings that
// the last Forward returned, and sets every parameter's Grad (replacing its
// content). It panics unless Forward was the last call.
func (e *Net) Backward(dE *matrix.Dense) {
	if !e.ready {
		panic("nn: Backward without a Forward before it")
	}
	e.enter()
	defer e.leave()
	e.ready = false
	p := &e.train
	n, dim := e.images, e.Dim()
	if dE.Rows != n || dE.Cols != dim {
		panic(fmt.Sprintf("nn: gradient of %d x %d for embeddings of %d x %d", dE.Rows, dE.Cols, n, dim))
	}
	if p.out.g == nil { // everything is frozen
		return
	}
	for i := range n {
		copy(p.out.g.data[i*dim:(i+1)*dim], dE.Row(i))
	}
	for i := len(p.steps) - 1; i >= 0; i-- {
		s := p.steps[i]
		e.prof.start()
		if s.output().needsGrad {
			s.backward(e, n)
		}
		e.prof.stop(p, i, s, n, true)
	}
}

// ArenaBytes is the memory of the engine's buffers per image: the larger of
// training and evaluation. It does not count parameters and gradients.
func (e *Net) ArenaBytes() int { return 4 * max(e.train.size, e.eval.size) }

// ErrNotFinite marks the errors of Diagnose that report NaN or infinity.
var ErrNotFinite = errors.New("not a finite number")
