package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kindred-ml/kindred/format/safetensors"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/objective"
)

// Config says what to train, on which data and for how long. Network, Data, Labels,
// Sampler, Objective, Optimizer and Epochs are needed.
type Config struct {
	Network   Network
	Data      Data
	Sampler   Sampler
	Objective Objective
	// Optimizer moves what Params lists of Network and Objective.
	Optimizer *optim.Optimizer

	// Labels holds the label of every position of Data, for Objective. Positions with
	// equal IDs are the same sample; nil: no two are. See objective.Batch.
	Labels, IDs []int64

	Epochs int

	// Chunk, if not 0, is how many samples go through the network at a time; the
	// network must be a Pieces. The network then needs memory for Chunk samples,
	// besides the samples and embeddings of the batch. A larger batch is embedded
	// piece by piece, the objective sees all of it, and each piece goes through a
	// second time to send its gradient back. Except for rounding this is the step of
	// the whole batch, unless batch norm uses the batch's statistics: then it uses
	// each piece's (ghost batch norm), and every piece moves the running statistics.
	Chunk int
	// Ranks, if set, are processes that train this run together; all have the same Config
	// but for Ranks, Store and Observe. It needs Chunk, and a Network that holds moments
	// back, as *nn.Net does. A batch needs a piece for each rank, and every sample must be
	// readable. Run stops if the context of one rank ends, once a step of all is done.
	Ranks Ranks

	// Eval, if set, scores the network after an epoch. last says that these are the
	// run's final scores.
	Eval func(ctx context.Context, epoch int, last bool) ([]Metric, error)
	// Every is the number of epochs between evaluations; default 1. The last epoch is
	// always scored. Untrained also scores the network before the first step, as
	// epoch 0, which has no row; the run may end with it, see Best.
	Every     int
	Untrained bool
	// Before, if set, computes the scores of Result.Untrained in place of Eval: for a
	// network that is best with other samples than those of training (larger images,
	// say). With BeforeCounts these scores also count as epoch 0 for Best, and Before
	// is called again, with last set, if the run ends with epoch 0; otherwise the scores
	// of Eval count.
	Before       func(ctx context.Context, last bool) ([]Metric, error)
	BeforeCounts bool
	// Best keeps the best epoch's network; the zero value keeps the last epoch's.
	Best Best
	// Average, if positive, is the number of epochs over which the weights are
	// averaged. The average is scored and kept; training goes on from the weights
	// themselves. For the first Average epochs it is the mean of all steps so far;
	// from then on older steps fade. Running statistics are averaged too; the loss's
	// parameters are not. It takes memory for one more copy of the network.
	Average float64
	// Line looks for the kept network on the line from the start to the best epoch.
	// It needs Best.
	Line Line
	// Budget, if positive, ends the run after the epoch in which the time of its
	// steps and evaluations in this process reaches Budget.
	Budget time.Duration

	// Store, if set, gets a checkpoint after every epoch, before an epoch is scored,
	// when the context has ended, and every Between steps (0: not).
	Store   Store
	Between int
	// From, if set, is the checkpoint to go on from. Everything else must be as it
	// was when the checkpoint was made, except that Epochs may grow.
	From *Checkpoint
	// Finish takes no further step: the epoch under way in From ends where it is and is
	// scored, and the run ends as after its last epoch. From needs to have one step at
	// least.
	Finish bool
	// Origin is written to checkpoints.
	Origin Origin

	// Warn, if set, returns what is wrong with an epoch of these sums; "": nothing.
	Warn func(*Sums) string
	// Observe, if set, is told of the run's progress, one call at a time.
	Observe func(Event)
}

// Result is the outcome of a run. The trained network is Config.Network.
type Result struct {
	History []Epoch
	// Epoch is the epoch whose weights the network has: the last, or the best with
	// Config.Best. Metrics are its scores.
	Epoch   int
	Metrics []Metric
	// Untrained are the scores before the first step, with Config.Untrained. Compared is
	// how samples changed since then, with Best.Paired.
	Untrained []Metric
	Compared  *Compared
	// Place is where the network lies on Config.Line (0 without it). Spent says that
	// Config.Budget ended the run.
	Place float64
	Spent bool
}

// Trainer is a run that is ready to start. Use it once.
type Trainer struct {
	cfg      Config
	state    Checkpoint
	observer observer

	samples int // trained on by this process
	grad    *mat.Dense
	batch   objective.Batch
	pieces  pieces

	asked func() bool // with ranks: whether this one is to stop

	average average
	origin  []safetensors.Tensor // of the network before training, under originPrefix
	best    []safetensors.Tensor // of the best epoch, under bestPrefix
	latest  []safetensors.Tensor // of the last step, once the network is the one to keep
	used    time.Duration        // by the epochs of this process
}

// Run trains c.Network: New, then Trainer.Run.
func Run(ctx context.Context, c Config) (*Result, error) {
	t, err := New(c)
	if err != nil {
		return nil, err
	}
	return t.Run(ctx)
}

// New checks that nothing is missing. If c.From is set, it restores the network and
// all other state from it.
func New(c Config) (*Trainer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Every = max(c.Every, 1)
	t := &Trainer{cfg: c}
	if c.Chunk > 0 {
		net, ok := c.Network.(Pieces)
		if !ok {
			return nil, errors.New("train: Config.Chunk needs a Network with the method ForwardPiece")
		}
		t.pieces.net, t.pieces.ranks = net, c.Ranks
	}
	if err := c.together(); err != nil {
		return nil, err
	}
	var err error
	if t.average, err = newAverage(c.Network, c.Average, c.Sampler.Batches()); err != nil {
		return nil, err
	}
	if c.keepsOrigin() {
		t.origin = networkTensors(originPrefix, c.Network)
	}
	if c.From != nil {
		if err := t.restore(c.From); err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(c.From.Name, "the checkpoint"), err)
		}
	}
	if c.Finish && t.state.Epoch == 0 && t.state.Step == 0 {
		return nil, errors.New("nothing to finish: no step has been taken")
	}
	return t, nil
}

// Run trains the network. If ctx ends, it stops after the step under way, saves a
// checkpoint to Store and returns a *Stopped; the run can go on from there. If a step
// fails, the error is a *StepError, and the checkpoint before it stays.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	t.observer = observer{f: t.cfg.Observe, began: time.Now()}
	defer t.observer.watch(ctx)()
	if t.cfg.Ranks != nil { // which must stop at the same place
		own := ctx
		t.asked, ctx = func() bool { return own.Err() != nil }, context.WithoutCancel(ctx)
	}
	t.observe(Event{Stage: Started})
	if err := t.loop(ctx); err != nil {
		return nil, err
	}
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	return t.result(), nil
}

// check names what is missing.
func (c *Config) check() error {
	for _, p := range []struct {
		missing bool
		what    string
	}{
		{c.Network == nil, "Network"}, {c.Data == nil, "Data"}, {c.Sampler == nil, "Sampler"},
		{c.Objective == nil, "Objective"}, {c.Optimizer == nil, "Optimizer"}, {c.Labels == nil, "Labels"},
		{c.Best.on() && c.Eval == nil, "Eval, which Best needs,"},
	} {
		if p.missing {
			return fmt.Errorf("train: Config.%s is not set", p.what)
		}
	}
	switch {
	case c.Epochs < 1:
		return fmt.Errorf("train: Config.Epochs is %d; at least 1 is needed", c.Epochs)
	case !(c.Best.Rise >= 0):
		return fmt.Errorf("train: Config.Best.Rise is %v; at least 0 is needed", c.Best.Rise)
	case c.Average < 0 || c.Line.Parts < 0 || c.Budget < 0:
		return fmt.Errorf("train: Config.Average is %v, Line.Parts %d, Budget %v; 0: without", c.Average, c.Line.Parts,
			c.Budget)
	case c.Line.on() && !c.Best.on():
		return errors.New("train: Config.Line needs Best, by whose metric places are compared")
	case c.Chunk < 0:
		return fmt.Errorf("train: Config.Chunk is %d; 0: batches are not cut", c.Chunk)
	case c.IDs != nil && len(c.IDs) != len(c.Labels):
		return fmt.Errorf("train: %d labels but %d IDs", len(c.Labels), len(c.IDs))
	case c.Sampler.Batches() < 1:
		return errors.New("train: the sampler has no batches")
	}
	return nil
}

func (t *Trainer) result() *Result {
	r := &Result{History: t.state.History, Epoch: t.state.Epoch, Untrained: t.state.Untrained,
		Compared: t.state.Compared}
	r.Spent = t.spent()
	if t.cfg.Best.on() {
		r.Epoch, r.Metrics, r.Place = t.state.Best.Epoch, t.state.Final, t.state.Best.Place
		if t.state.Returned {
			r.Epoch, r.Place = 0, 0
		}
	} else if t.average.on() {
		r.Metrics = t.state.Final
	} else if n := len(r.History); n > 0 {
		r.Metrics = r.History[n-1].Metrics
	}
	return r
}

// observe tells of e, to which it adds where the run stands.
func (t *Trainer) observe(e Event) {
	e.Epoch, e.Epochs = min(t.state.Epoch+1, t.cfg.Epochs), t.cfg.Epochs
	e.Step, e.Steps, e.Samples = t.state.Step, t.cfg.Sampler.Batches(), t.samples
	if t.state.Best != nil {
		e.Best = t.state.Best.Epoch
	}
	t.observer.tell(e)
}
