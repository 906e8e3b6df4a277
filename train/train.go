package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kindred-ml/kindred/internal/base/critical"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn/safetensors"

	"github.com/kindred-ml/kindred/objective"
)

// Config describes a run. Network, Data, Labels, Sampler, Objective, Optimizer and Epochs are
// required.
type Config struct {
	Network   Network
	Data      Data
	Sampler   Sampler
	Objective Objective
	// Optimizer updates the parameters of Network and Objective, as Params returns them.
	Optimizer *Optimizer

	// Labels holds the label of every position of Data, for Objective. Positions with equal IDs
	// are the same sample; if IDs is nil, all samples differ. See objective.Batch.
	Labels, IDs []int64

	Epochs int

	// MicroBatch, if not 0, is the number of samples that go through the network at a time. The network
	// must implement Pieces. It then needs memory for Chunk samples, besides the samples and
	// embeddings of the batch. A larger batch is embedded piece by piece, the objective gets the
	// whole batch, and each piece goes through the network again to send its gradient back. The
	// step differs from that of the whole batch only by rounding, unless batch norm uses batch
	// statistics. Then it uses the statistics of each piece (ghost batch norm), and every piece
	// updates the running statistics.
	MicroBatch int
	// Ranks, if set, are processes that train this run together. All have the same Config except
	// for Ranks, Store and Observe. Ranks needs Chunk, and a Network that can delay the update of
	// running statistics, as *nn.Net can. A batch needs a piece for each rank, and every sample
	// must be readable. If the context of one rank ends, Run stops on all after the same step.
	Ranks Ranks

	// Eval, if set, scores the network after an epoch. last marks the run's final scores.
	Eval func(ctx context.Context, epoch int, last bool) ([]Metric, error)
	// EvalEvery is the number of epochs between evaluations; default 1. The last epoch is always
	// scored. Untrained also scores the network before the first step, as epoch 0, which has no
	// row. The run may end with it; see Best.
	EvalEvery int
	Untrained bool
	// EvalUntrained, if set, computes the scores of Result.Untrained in place of Eval. It is for a
	// network that works best with other samples than those of training, such as larger images.
	// With UntrainedCompetes these scores also count as epoch 0 for Best, and Before is called again,
	// with last set, if the run ends with epoch 0. Without UntrainedCompetes the scores of Eval count.
	EvalUntrained     func(ctx context.Context, last bool) ([]Metric, error)
	UntrainedCompetes bool
	// EarlyStopping keeps the best epoch's network. The zero value keeps the last epoch's network.
	EarlyStopping EarlyStopping
	// Average, if positive, is the number of epochs over which the weights are averaged. The
	// average is scored and kept, but training continues with the weights themselves. For the
	// first Average epochs the average is the mean of all steps so far; after that, older steps
	// fade. Running statistics are averaged too, the loss's parameters are not. The average takes
	// memory for one more copy of the network.
	Average float64
	// Interpolation searches for the kept network on the line from the start to the best epoch. It needs
	// Best.
	Interpolation Interpolation
	// Budget, if positive, ends the run after the epoch in which the time of its
	// steps and evaluations in this process reaches Budget.
	Budget time.Duration
	// Deadline, if set, is when the last step must have been taken. The run ends after an evaluation
	// if the steps until the next one would take too long. An epoch in which Deadline passes ends after the step
	// under way, and the run with it. It is an error with Ranks.
	Deadline time.Time

	// Store, if set, gets a checkpoint after every epoch, before an epoch is scored, when the
	// context has ended, and every Between steps if Between is not 0.
	Store              Store
	CheckpointInterval int
	// Resume, if set, is the checkpoint to resume from. The rest of Config must be as it was when
	// the checkpoint was made, except that Epochs may grow.
	Resume *Checkpoint
	// Finish takes no further step. The epoch under way in From ends and is scored, and the run
	// ends as after its last epoch. From must have at least one step.
	Finish bool
	// Origin is written to checkpoints.
	Origin Origin

	// Warn, if set, returns a warning about an epoch with these sums, or "".
	Warn func(*Totals) string
	// Observe, if set, is called with the progress of the run, one call at a time.
	Observe func(Event)
}

// Result is the outcome of a run. The trained network is Config.Network.
type Result struct {
	History []Epoch
	// Epoch is the epoch whose weights the network has: the last or, with Config.BestRule, the best.
	// Metrics are its scores.
	Epoch   int
	Metrics []Metric
	// Untrained are the scores before the first step, with Config.Untrained. Compared is the
	// change of samples since then, with Best.Paired.
	Untrained []Metric
	Compared  *PairedComparison
	// Place is the network's place on Config.Interpolation; 0 without Line. Spent says that Config.Budget
	// ended the run, and Late that Config.Deadline did.
	Place       float64
	Spent, Late bool
}

// Trainer is a run that is ready to start. Use it only once.
type Trainer struct {
	cfg      Config
	state    Checkpoint
	observer observer

	samples int // number of samples trained on by this process
	grad    *matrix.Dense
	batch   objective.Batch
	micro   microBatches

	endCritical   func()      // ends the critical section of steps that no checkpoint has; nil without such steps
	isAskedToStop func() bool // with ranks, reports whether this one must stop

	average      weightAverage
	startTensors []safetensors.Tensor // weights before training, under startPrefix
	best         []safetensors.Tensor // tensors of the best epoch, under bestPrefix
	latest       []safetensors.Tensor // tensors of the last step, once the network has its final weights
	elapsed      time.Duration        // time of the epochs of this process
	scoring      time.Duration        // time of the last evaluation
	isLate       bool                 // Config.Deadline ends the run with the epoch under way
}

// Loop trains c.Network: New, then Trainer.Run.
func Loop(ctx context.Context, c Config) (*Result, error) {
	t, err := New(c)
	if err != nil {
		return nil, err
	}
	return t.Run(ctx)
}

// New checks the configuration. If c.From is set, it restores the network and all other state
// from it.
func New(c Config) (*Trainer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.EvalEvery = max(c.EvalEvery, 1)
	t := &Trainer{cfg: c}
	if c.MicroBatch > 0 {
		net, ok := c.Network.(MicroBatchNetwork)
		if !ok {
			return nil, errors.New("Config.MicroBatch needs a Network with the method ForwardMicroBatch")
		}
		t.micro.net, t.micro.ranks = net, c.Ranks
	}
	if err := c.prepareRanks(); err != nil {
		return nil, err
	}
	var err error
	if t.average, err = newAverage(c.Network, c.Average, c.Sampler.Batches()); err != nil {
		return nil, err
	}
	if c.keepsStart() {
		t.startTensors = copyNetworkTensors(startPrefix, c.Network)
	}
	if c.Resume != nil {
		if err := t.restore(c.Resume); err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(c.Resume.Name, "the checkpoint"), err)
		}
	}
	if c.Finish && t.state.Epoch == 0 && t.state.Step == 0 {
		return nil, errors.New("nothing to finish: no step has been taken")
	}
	return t, nil
}

// Run trains the network. If ctx ends, it stops after the step under way, saves a checkpoint to
// Store and returns a *Stopped. The run can resume from there. If a step fails, the error is a
// *StepError, and the last checkpoint stays.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	t.observer = observer{f: t.cfg.Observe, began: time.Now()}
	defer t.observer.watch(ctx)()
	if t.cfg.Ranks != nil { // all ranks must stop at the same step
		own := ctx
		t.isAskedToStop, ctx = func() bool { return own.Err() != nil }, context.WithoutCancel(ctx)
		defer critical.Begin(ctx, 0)()
	}
	defer t.endUnsaved()
	t.observe(Event{Stage: Started})
	if err := t.loop(ctx); err != nil {
		return nil, err
	}
	if err := t.finalizeNetwork(ctx); err != nil {
		return nil, err
	}
	return t.result(), nil
}

// check returns an error for a missing or invalid field.
func (c *Config) check() error {
	for _, p := range []struct {
		missing bool
		what    string
	}{
		{c.Network == nil, "Network"}, {c.Data == nil, "Data"}, {c.Sampler == nil, "Sampler"},
		{c.Objective == nil, "Objective"}, {c.Optimizer == nil, "Optimizer"}, {c.Labels == nil, "Labels"},
		{c.EarlyStopping.isOn() && c.Eval == nil, "Eval, which EarlyStopping needs,"},
	} {
		if p.missing {
			return fmt.Errorf("train.Config.%s is not set", p.what)
		}
	}
	switch {
	case c.Epochs < 1:
		return fmt.Errorf("Config.Epochs is %d: must be at least 1", c.Epochs)
	case !(c.EarlyStopping.MinDelta >= 0):
		return fmt.Errorf("Config.EarlyStopping.MinDelta is %v: must be at least 0", c.EarlyStopping.MinDelta)
	case c.Average < 0 || c.Interpolation.Parts < 0 || c.Budget < 0:
		return fmt.Errorf("Config.Average is %v, Interpolation.Parts %d, Budget %v: none may be negative; "+
			"0 turns one off", c.Average, c.Interpolation.Parts,
			c.Budget)
	case !c.Deadline.IsZero() && c.Ranks != nil:
		return errors.New("Config.Deadline and Ranks are both set: only one is allowed, because clocks differ")
	case c.Interpolation.isOn() && !c.EarlyStopping.isOn():
		return errors.New("Config.Interpolation needs EarlyStopping, because it compares places by its metric")
	case c.MicroBatch < 0:
		return fmt.Errorf("Config.MicroBatch is %d: must not be negative; 0 means whole batches", c.MicroBatch)
	case c.IDs != nil && len(c.IDs) != len(c.Labels):
		return fmt.Errorf("Config.Labels has %d labels, but IDs has %d: the numbers must be "+
			"equal", len(c.Labels), len(c.IDs))
	case c.Sampler.Batches() < 1:
		return errors.New("the sampler has no batches")
	}
	return nil
}

func (t *Trainer) result() *Result {
	r := &Result{History: t.state.History, Epoch: t.state.Epoch, Untrained: t.state.Untrained,
		Compared: t.state.Compared}
	r.Spent, r.Late = t.isOverBudget(), t.isLate
	if t.cfg.EarlyStopping.isOn() {
		r.Epoch, r.Metrics, r.Place = t.state.Best.Epoch, t.state.Final, t.state.Best.Place
		if t.state.Returned {
			r.Epoch, r.Place = 0, 0
		}
	} else if t.average.isOn() {
		r.Metrics = t.state.Final
	} else if n := len(r.History); n > 0 {
		r.Metrics = r.History[n-1].Metrics
	}
	return r
}

// observe sends e, to which it adds the current epoch and step.
func (t *Trainer) observe(e Event) {
	e.Epoch, e.Epochs = min(t.state.Epoch+1, t.cfg.Epochs), t.cfg.Epochs
	e.Step, e.Steps, e.Samples = t.state.Step, t.cfg.Sampler.Batches(), t.samples
	if t.state.Best != nil {
		e.Best = t.state.Best.Epoch
	}
	t.observer.notify(e)
}
