package run

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// assembly holds the parts of a run before its first step, as the configuration describes
// them. Nothing is written yet.
type assembly struct {
	cfg  Config // resolved
	opts Options

	opened    *data.Dataset // to be closed
	sel       *data.Selected
	from      *population
	feed      *feed
	scored    []*scored
	net       *nn.Net
	untrained *untrained        // the pretrained network at its own size, where training takes another
	trained   train.Network     // net, or the half of it that is not frozen
	device    optim.Device      // which holds the parameters; nil: this process does
	features  *features         // of a frozen body
	origin    *origin           // where the network starts
	known     known             // what is known of what the configuration leaves open
	imported  *zoo.ImportReport // of pretrained weights
	mined     string            // why the positives are what they are, where no note says it
	memory    MemoryPlan
	options   objective.Options
	objective train.Objective
	optimizer *optim.Optimizer
	sampler   sampler
	notes     []string // for the user
}

// assemble makes the parts that cfg describes.
func assemble(ctx context.Context, cfg Config, opts Options) (*assembly, error) {
	t := &assembly{cfg: cfg.clone(), opts: opts}
	if err := t.make(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// make makes all parts, so that mistakes in the run are found before anything is written.
func (t *assembly) make(ctx context.Context) error {
	if err := t.opts.vacant(); err != nil {
		return err
	}
	if t.opts.Resume {
		t.cfg.asBegun(t.opts.Dir)
	}
	if err := t.bring(); err != nil {
		return err
	}
	if p := t.cfg.problems(); len(p) > 0 {
		return fmt.Errorf("%s: %s", p[0].key, p[0].text)
	}
	d, err := t.openData(ctx)
	if err != nil {
		return err
	}
	t.notes = append(t.notes, d.Notes...)
	measured := t.cfg.Data.Size == 0 && !t.opts.Resume // which replaces what the start says
	if err := t.choose(ctx, d); err != nil {
		return err
	}
	o, err := t.cfg.objective()
	if err != nil {
		return err
	}
	if err := t.bringLoss(&o); err != nil {
		return err
	}
	if err := t.selectSamples(ctx, d, &o); err != nil {
		return remarked(err, d)
	}
	if measured {
		if err := t.measureSize(ctx); err != nil {
			return err
		}
	}
	if t.sampler, err = t.newSampler(); err != nil {
		return remarked(err, d)
	}
	if err := checkPairs(&t.cfg, &o, t.from); err != nil {
		return err
	}
	if t.cfg.Data.Cache {
		if err := t.cacheImages(ctx); err != nil {
			return err
		}
	}
	if t.feed, err = newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, true, t.bytes()); err != nil {
		return err
	}
	if t.scored, err = newScored(t.sel, &t.cfg, t.bytes()); err != nil {
		return err
	}
	if err := t.learn(ctx, o); err != nil {
		return err
	}
	return t.addUntrained()
}

// remarked appends the remarks of a data set to an error that they may explain.
func remarked(err error, d *data.Dataset) error {
	for _, n := range d.Notes {
		err = fmt.Errorf("%w\n%s", err, n)
	}
	return err
}

// openData opens the data set, unless it was given.
func (t *assembly) openData(ctx context.Context) (*data.Dataset, error) {
	if t.opts.Dataset != nil {
		return t.opts.Dataset, nil
	}
	d, err := t.cfg.Data.Open(ctx, t.opts.Home, t.opts.Formats...)
	t.opened = d
	if t.opts.Resume {
		err = Moved(err, t.opts.Dir)
	}
	return d, err
}

// selectSamples says what is trained and scored on.
func (t *assembly) selectSamples(ctx context.Context, d *data.Dataset, o *objective.Options) error {
	var err error
	if t.sel, err = t.selectData(ctx, d); err != nil {
		return err
	}
	t.known.sel = t.sel
	t.cfg.settle(&t.known)
	if err := t.cfg.Train.checkMargin(); err != nil {
		return err
	}
	if err := checkMetrics(t.sel, &t.cfg); err != nil {
		return err
	}
	if t.from, err = newPopulation(t.sel.Train, o.Rule); err != nil {
		return err
	}
	t.notes = append(t.notes, t.from.notes()...)
	if t.from.classes < 2 {
		return fmt.Errorf("the training samples have only one label (%s): there is nothing to tell apart%s",
			className(t.sel.Train.LabelClasses, t.sel.Train.Label[0]), lookUp(d))
	}
	if t.origin.own != nil {
		notes, err := t.cfg.adopt(t.origin.own, &t.known)
		if err != nil {
			return err
		}
		t.notes = append(t.notes, notes...)
	}
	t.known.look(d)
	t.cfg.settle(&t.known)
	return nil
}

// learn makes the network, the objective and the optimizer.
func (t *assembly) learn(ctx context.Context, o objective.Options) error {
	h, w, c := t.feed.shape()
	var err error
	if t.known.body, err = t.cfg.bodyDim(t.origin.own, h, w, c); err != nil {
		return err
	}
	t.cfg.settle(&t.known)
	spec, err := networkSpec(&t.cfg, t.origin.own, h, w, c)
	if err != nil {
		return err
	}
	if err := t.fit(spec, &o); err != nil {
		return err
	}
	if t.cfg.Network.Precision == string(nn.BFloat16) && !nn.BFloat16.Fast() && t.opts.Engine == nil {
		t.note("network.precision=bfloat16: this processor has no instructions for it (AMX, AVX512_BF16): its " +
			"rounding is imitated, which is much slower than float32")
	}
	if t.net, t.imported, err = newNetwork(&t.cfg, t.origin.own, t.origin.start.Path, spec); err != nil {
		return err
	}
	if err := t.freeze(); err != nil {
		return err
	}
	if err := t.prepare(ctx, &o); err != nil {
		return err
	}
	o.Classes, o.Relate = t.from.given, t.from.relate
	o.Dim, o.Seed = t.net.Dim(), t.cfg.Train.Seed
	o.Mine.Seed = t.cfg.Train.Seed
	t.options = o
	made, err := objective.New(o)
	if err != nil {
		return err
	}
	if t.objective = made; t.opts.Miner != nil {
		t.objective = guided{made, t.opts.Miner}
	}
	if err := t.engage(); err != nil {
		return err
	}
	t.optimizer, err = newOptimizer(&t.cfg.Train, t.sampler.Batches(), t.trained, t.objective, t.device)
	return err
}

// note keeps a sentence for the user.
func (t *assembly) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// close closes the data set. It ignores errors, because the files were only read.
func (t *assembly) close() {
	if t.opened == nil {
		return
	}
	if t.sel != nil { // with the cache in front of it
		t.opened = t.sel.Train.Data
	}
	_ = t.opened.Close()
}
