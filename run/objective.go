package run

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/kindred-ml/kindred/matrix"

	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// objective reads the sections mine and loss. It leaves out policies and losses that a program
// provides.
func (c *Config) objective() (objective.Options, error) {
	without := func(s Section, names ...string) Section {
		s = maps.Clone(s)
		for _, n := range names {
			if s[n] == customValue {
				delete(s, n)
			}
		}
		return s
	}
	return objective.Parse(without(c.Mine, positivesKey, negativesKey), without(c.Loss, "name"))
}

// useCustomLoss puts the loss and the mining policies of the options into o, and checks that the
// loss can use the options' miner. mining is the section of the configuration.
func useCustomLoss(o *objective.Options, mining Section, opts *Options) error {
	if opts.Loss != nil {
		o.Loss = opts.Loss
		if traits := o.Traits(); (traits.AllPairs || traits.Proxies > 0) && mining[positivesKey] == nil {
			o.Mine.Positives, o.Mine.Negatives = objective.AllPositives, objective.AllNegatives
		}
	}
	o.Mine.CustomPositives, o.Mine.CustomNegatives = opts.Positives, opts.Negatives
	if opts.Miner != nil && (opts.Positives != nil || opts.Negatives != nil) {
		return errors.New("run.Options has Miner, which chooses whole triplets: leave Positives and Negatives out")
	}
	if opts.Miner != nil && (o.Loss.Terms().Tuples() == nil || len(o.Plus) > 0 || o.Memory > 0) {
		return errors.New("run.Options.Miner needs a loss over triplets, without " +
			"loss.plus and loss.memory")
	}
	return nil
}

// customMining is an objective whose triplets Options.Miner chooses.
type customMining struct {
	*objective.Objective
	miner func(e *matrix.Dense, b objective.Batch) ([][3]int32, error)
}

// Step computes the loss of the chosen triplets.
func (g customMining) Step(ctx context.Context, e *matrix.Dense, b objective.Batch,
	grad *matrix.Dense) (objective.Result,
	error) {
	triplets, err := g.miner(e, b)
	if err != nil {
		return objective.Result{}, fmt.Errorf("run.Options.Miner: %w", err)
	}
	r, err := g.StepTriplets(ctx, e, b.IDs, triplets, grad)
	if err != nil {
		err = fmt.Errorf("run.Options.Miner: %w", err)
	}
	return r, err
}

// epochWarning returns a warning about an epoch, or "".
func (t *trainingStage) epochWarning(s *train.Totals) string {
	if t.opts.Miner != nil && s.Steps > 0 && s.Tuples == 0 {
		return "there was nothing to learn from: run.Options.Miner chose no triplets"
	}
	return idleReason(s, &t.lossOptions)
}

// idleReason returns why fewer than one tuple in a hundred of an epoch was active, by the counts of
// its steps; "" if more were.
func idleReason(s *train.Totals, o *objective.Options) string {
	if s.Steps == 0 || s.Tuples > 0 && 100*s.Active >= s.Tuples {
		return ""
	}
	proxied := o.Traits().Proxies > 0
	positives, negatives := o.Mine.Names()
	var cause string
	switch {
	case s.Tuples == 0 && s.NoNegative >= s.Samples:
		cause = "no sample had a negative in its batch: draw more classes in a batch (sample.classes)"
	case s.Tuples == 0 && s.NoPositive >= s.Samples:
		cause = "no sample had a positive in its batch: draw more samples of a class (sample.per_class), or use " +
			"coarser labels (data.label)"
	case s.Tuples == 0 && s.NoCandidate > 0 && (o.Mine.PositiveRange != objective.DistanceRange{} ||
		o.Mine.NegativeRange != objective.DistanceRange{}):
		cause = fmt.Sprintf("%d times no candidate was within the range of distances: widen mine.positives_from and "+
			"positives_to, or mine.negatives_from and negatives_to", s.NoCandidate)
	case s.Tuples == 0 && s.NoCandidate > 0 && positives == objective.SemiHardPositive.String():
		cause = fmt.Sprintf("mine.positives=%v found no positive nearer than the negative for any of %d samples: set "+
			"mine.positives=easy or mine.negatives=easy", positives, s.NoCandidate)
	case s.Tuples == 0 && s.NoCandidate > 0:
		cause = fmt.Sprintf("mine.negatives=%v accepted no negative for any of %d positives: set another "+
			"policy, or mine.fallback=hard", negatives, s.NoCandidate)
	case s.Tuples == 0:
		cause = "samples had a positive or a negative, but never both: draw more classes in a batch (sample.classes)"
	case !proxied && 2*s.NoPositive > s.Samples:
		cause = fmt.Sprintf("%d of %d samples had no positive in their batch (sample.per_class), and the others "+
			"satisfy the loss", s.NoPositive, s.Samples)
	case s.Fallbacks > 0 && 2*s.Fallbacks > s.Tuples:
		cause = fmt.Sprintf("for %d of %d positives mine.negatives=%v fell back to other negatives, which satisfy "+
			"the loss: set a larger loss.margin, mine.negatives=hard, or fewer epochs if this is good enough",
			s.Fallbacks, s.Tuples, negatives)
	default:
		cause = "the others satisfy the loss: set a larger loss.margin, if it has one, mine.negatives=hard, or fewer " +
			"epochs if this is good enough"
	}
	if s.Tuples == 0 {
		return "there was nothing to learn from: " + cause
	}
	return fmt.Sprintf("%d of %d tuples were active: %s", s.Active, s.Tuples, cause)
}
