package run

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// brought is what a configuration says in the place of a name where a program brings the
// thing along, by Options.Loss, Positives, Negatives, Miner or Sampler. So config.yaml does not name what was not
// used, and a program without them cannot go on with the run.
const brought = "own"

// negativesKey stands beside positivesKey.
const negativesKey = "negatives"

// bring puts what the options bring along in the place of what the configuration names. It
// refuses a configuration that speaks of what they do not bring.
func bring(cfg *Config, opts *Options) error {
	for _, b := range []struct {
		given bool
		field string
		key   string
	}{
		{opts.Loss != nil, "Loss", "loss.name"},
		{opts.Positives != nil || opts.Miner != nil, "Positives or Miner", "mine." + positivesKey},
		{opts.Negatives != nil || opts.Miner != nil, "Negatives or Miner", "mine." + negativesKey},
		{opts.Sampler != nil, "Sampler", "sample.name"},
	} {
		k := table.Named(b.key)
		if b.given {
			table.Put(cfg, k, brought)
		} else if table.Value(cfg, k) == brought {
			return fmt.Errorf("%s: %s is what a program brings along by run.Options.%s: only such a program can "+
				"begin this run or go on with it", b.key, brought, b.field)
		}
	}
	return nil
}

// objective reads the sections mine and loss. Of what a program brings along they say
// nothing more.
func (c *Config) objective() (objective.Options, error) {
	without := func(s Section, names ...string) Section {
		s = maps.Clone(s)
		for _, n := range names {
			if s[n] == brought {
				delete(s, n)
			}
		}
		return s
	}
	return objective.Parse(without(c.Mine, positivesKey, negativesKey), without(c.Loss, "name"))
}

// bringLoss puts the loss and the mining policies of the options into o, and looks whether it
// takes their miner. mining is the section of the configuration.
func bringLoss(o *objective.Options, mining Section, opts *Options) error {
	if opts.Loss != nil {
		o.Loss = opts.Loss
		if traits := o.Traits(); (traits.AllPairs || traits.Proxies > 0) && mining[positivesKey] == nil {
			o.Mine.Positives, o.Mine.Negatives = mine.AllPositives, mine.AllNegatives
		}
	}
	o.Mine.OwnPositives, o.Mine.OwnNegatives = opts.Positives, opts.Negatives
	if opts.Miner != nil && (opts.Positives != nil || opts.Negatives != nil) {
		return errors.New("run.Options.Miner chooses whole triplets: it does not go with Positives and Negatives")
	}
	if _, ok := o.Loss.(loss.Tuples); opts.Miner != nil && (!ok || len(o.Plus) > 0 || o.Memory > 0) {
		return errors.New("run.Options.Miner chooses triplets, which only a single loss over triplets takes, without " +
			"loss.plus and loss.memory")
	}
	return nil
}

// guided is an objective whose triplets a program chooses.
type guided struct {
	*objective.Objective
	choose func(e *mat.Dense, b objective.Batch) ([][3]int32, error)
}

// Step computes the loss of the chosen triplets.
func (g guided) Step(ctx context.Context, e *mat.Dense, b objective.Batch, grad *mat.Dense) (objective.Result, error) {
	triplets, err := g.choose(e, b)
	if err != nil {
		return objective.Result{}, fmt.Errorf("run.Options.Miner: %w", err)
	}
	r, err := g.StepTriplets(ctx, e, b.IDs, triplets, grad)
	if err != nil {
		err = fmt.Errorf("run.Options.Miner: %w", err)
	}
	return r, err
}

// broughtSampler is a sampler of a program. Batches are of at most size samples, as those of
// its first epoch are.
type broughtSampler struct {
	train.Sampler
	size int
}

func (s broughtSampler) BatchSize() int { return s.size }

// bringSampler makes the sampler of a program, and looks at the first epoch that it draws.
func bringSampler(draw func(*data.Part) (train.Sampler, error), p *data.Part) (sampler, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("run.Options.Sampler: "+format, args...)
	}
	s, err := draw(p)
	if err != nil {
		return nil, wrong("%w", err)
	}
	start := s.State()
	batches := s.Epoch()
	if err := s.Restore(start); err != nil {
		return nil, wrong("it does not go back to the state that it was in: %w", err)
	}
	if n := s.Batches(); n < 1 || n != len(batches) {
		return nil, wrong("it announces %d batches and draws %d; they must be the same, and at least 1", n,
			len(batches))
	}
	out := broughtSampler{s, 0}
	for k, b := range batches {
		if len(b) == 0 {
			return nil, wrong("batch %d is empty", k)
		}
		for _, pos := range b {
			if pos < 0 || pos >= p.Len() {
				return nil, wrong("batch %d has position %d, and there are %d samples", k, pos, p.Len())
			}
		}
		out.size = max(out.size, len(b))
	}
	return out, nil
}
