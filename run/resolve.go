package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// A run goes through three stages, and each makes a value from the one before:
//
//	resolve  of a configuration and options  what is trained on, from which start, and with which settings
//	build    of what was resolved            the network and all else that a step takes
//	train    of what was built               the loop, the files, the result
//
// resolve and build find the mistakes in a run, and write nothing.

// resolved is a run whose samples and start are known, with the settings that these decide.
type resolved struct {
	cfg  Config
	opts Options

	opened  *data.Dataset     // to be closed
	origin  *origin           // where the network starts
	known   known             // what is known of what the configuration leaves open
	sel     *data.Selected    // what is trained and scored on
	from    *population       // what batches are drawn from
	sampler sampler           // which draws them
	options objective.Options // of the loss, as far as they need no network
	notes   []string          // for the user
}

// resolve finds out what a run is about.
func resolve(ctx context.Context, cfg Config, opts Options) (*resolved, error) {
	cfg, err := given(cfg, &opts)
	if err != nil {
		return nil, err
	}
	r := &resolved{cfg: cfg, opts: opts}
	if err := r.resolve(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// given is the configuration that a run is to have by what is asked for alone: before data are read.
func given(cfg Config, opts *Options) (Config, error) {
	opts.Resume = opts.Resume || opts.Finish
	if err := opts.vacant(); err != nil {
		return cfg, err
	}
	cfg = cfg.clone()
	if opts.Resume {
		cfg.asBegun(opts.Dir)
	}
	if err := bring(&cfg, opts); err != nil {
		return cfg, err
	}
	for _, p := range cfg.problems() {
		return cfg, fmt.Errorf("%s: %s", p.key, p.text)
	}
	if cfg.Network.Precision == string(nn.Int8) {
		return cfg, errors.New("network.precision=int8 is for evaluation: train in float32 or bfloat16, then write " +
			"the run in 8 bits with kindred quantize")
	}
	return cfg, nil
}

func (r *resolved) resolve(ctx context.Context) error {
	d, err := r.openData(ctx)
	if err != nil {
		return err
	}
	r.notes = append(r.notes, d.Notes...)
	measured := r.cfg.Data.Size == 0 && !r.opts.Resume // which replaces what the start says
	if err := r.choose(ctx, d); err != nil {
		return err
	}
	if r.options, err = r.losses(); err != nil {
		return err
	}
	if err := r.selectSamples(ctx, d); err != nil {
		return remarked(err, d)
	}
	if measured {
		if err := r.measureSize(ctx); err != nil {
			return err
		}
	}
	if r.sampler, err = r.newSampler(); err != nil {
		return remarked(err, d)
	}
	r.known.steps, r.known.batch = r.sampler.Batches(), r.sampler.BatchSize()
	r.cfg.settle(&r.known)
	if err := r.shareable(); err != nil {
		return err
	}
	return checkPairs(&r.cfg, &r.options, r.from)
}

// losses are the options of the objective by the configuration and by what the program brings along.
func (r *resolved) losses() (objective.Options, error) {
	o, err := r.cfg.objective()
	if err != nil {
		return o, err
	}
	return o, bringLoss(&o, r.cfg.Mine, &r.opts)
}

// remarked appends the remarks of a data set to an error that they may explain.
func remarked(err error, d *data.Dataset) error {
	for _, n := range d.Notes {
		err = fmt.Errorf("%w\n%s", err, n)
	}
	return err
}

// openData opens the data set, unless it was given.
func (r *resolved) openData(ctx context.Context) (*data.Dataset, error) {
	if r.opts.Dataset != nil {
		return r.opts.Dataset, nil
	}
	d, err := r.cfg.Data.Open(ctx, r.opts.Home, r.opts.Formats...)
	r.opened = d
	if r.opts.Resume {
		err = Moved(err, r.opts.Dir)
	}
	return d, err
}

// selectSamples says what is trained and scored on.
func (r *resolved) selectSamples(ctx context.Context, d *data.Dataset) error {
	var err error
	if r.sel, err = r.selectData(ctx, d); err != nil {
		return err
	}
	r.known.sel = r.sel
	r.cfg.settle(&r.known)
	if err := checkMetrics(r.sel, &r.cfg); err != nil {
		return err
	}
	if r.from, err = newPopulation(r.sel.Train, r.options.Rule); err != nil {
		return err
	}
	r.notes = append(r.notes, r.from.notes()...)
	if r.from.classes < 2 {
		return fmt.Errorf("the training samples have only one label (%s): there is nothing to tell apart%s",
			className(r.sel.Train.LabelClasses, r.sel.Train.Label[0]), lookUp(d))
	}
	if r.origin.own != nil {
		notes, err := r.cfg.adopt(r.origin.own, &r.known)
		if err != nil {
			return err
		}
		r.notes = append(r.notes, notes...)
	}
	r.known.look(d)
	r.cfg.settle(&r.known)
	return nil
}

// note keeps a sentence for the user.
func (r *resolved) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// close closes the data set. It ignores errors, because the files were only read.
func (r *resolved) close() {
	if r.opened == nil {
		return
	}
	if r.sel != nil { // with the cache in front of it
		r.opened = r.sel.Train.Data
	}
	_ = r.opened.Close()
}
