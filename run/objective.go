package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// The losses that a pretrained start takes by default: the loss of a classifier or, with a frozen body or a key of mine
// or loss, a loss of pairs. docs/design/finetune.md has the measurements.
const (
	classificationLoss = "cosface"
	pairLoss           = "multisimilarity"
)

// lossChoice is the loss of a run.
type lossChoice struct {
	options objective.Options
	// isDefault says that the configuration leaves the loss to the recipe of a pretrained start.
	isDefault       bool
	positivesReason string // why the positives were chosen; "" if a note says it
	// most labels fall into groups, but there are too few labels to call the groups sub-classes
	unclearGroups bool
}

// lossFacts are what the default loss and the recipe depend on besides the configuration.
type lossFacts struct {
	fineTunes   bool // as in networkStart
	hasFile     bool // the network is a file's
	hasFeatures bool // samples are ready features
	isCustom    bool // the program provides a part of the objective
	// spread asks for SupCon with spread between two views of each image (Chen et al. 2022), the default loss for grey
	// images from scratch. SupCon tells the labels apart. Spread keeps the images of a label from falling together,
	// because each stays near its own other view. This works with and without sub-classes. docs/design/scratch.md has
	// the measurements, and why colour images keep the triplet loss.
	spread bool
}

// settleLoss settles the loss and the recipe that follow from the start.
func settleLoss(c *Config, opts *Options, d *data.Dataset, start *networkStart, look func() imageShape) (
	l lossChoice, err error) {
	f := lossFacts{fineTunes: start.fineTunes, hasFile: start.file != nil, hasFeatures: d.Features != nil,
		isCustom: opts.Loss != nil || opts.Miner != nil || opts.Positives != nil || opts.Negatives != nil}
	f.spread = !opts.Resume && !c.Network.isPretrained() && c.leavesLossOpen() &&
		cmp.Or(c.Data.Channels, look().channels) == 1 && !f.hasFeatures
	l.isDefault = chooseLoss(c, f)
	chooseRecipe(c, f)
	if l.options, err = c.objective(); err != nil {
		return l, err
	}
	return l, useCustomLoss(&l.options, c.Mine, opts)
}

// leavesLossOpen reports whether a configuration leaves the loss open and allows batches with two
// views of each image.
func (c *Config) leavesLossOpen() bool {
	return len(c.Loss) == 0 && len(c.Mine) == 0 && c.Sample.Views != 1 && c.Sample.PerClass != 1 &&
		c.Data.Augment != none
}

// chooseLoss settles the loss and the number of views of a sample. It reports whether the configuration leaves the loss
// to the recipe of a pretrained start.
func chooseLoss(c *Config, f lossFacts) (isDefault bool) {
	name, views := "triplet", 1
	_, nested := c.Loss["nested"] // a key of every loss
	switch {
	case f.spread:
		name, views = "supcon", 2
		c.Loss["plus"] = []any{map[string]any{"name": "spread", "weight": 1}}
	case c.Network.isPretrained() && (len(c.Loss) == 0 || len(c.Loss) == 1 && nested):
		name = pairLoss
		isDefault = len(c.Loss) == 0 && len(c.Mine) == 0 && f.fineTunes && !f.hasFeatures &&
			!c.Network.hasFrozenBody() && !f.isCustom
		if isDefault {
			name = classificationLoss
		}
	}
	if v := c.Loss["name"]; v == nil || v == "" {
		c.Loss["name"] = name
	}
	c.Sample.Views = cmp.Or(c.Sample.Views, views)
	return isDefault
}

// chooseRecipe settles the keys of training that depend only on the start. A frozen body keeps
// its norms, and its features are computed once.
func chooseRecipe(c *Config, f lossFacts) {
	d, n, t := &c.Data, &c.Network, &c.Train
	augment, validation, norm, depth := none, none, Off, 1.0
	if f.spread {
		augment = "characters"
	}
	if f.fineTunes {
		validation = "as-test:0.2"
		if !n.hasFrozenBody() {
			augment, norm, depth = "light", On, 0.1
		}
	}
	d.Augment, d.Validation = cmp.Or(d.Augment, augment), cmp.Or(d.Validation, validation)
	t.Depth = cmp.Or(t.Depth, depth)
	n.FrozenNorm = cmp.Or(n.FrozenNorm, norm)
	if n.hasFrozenBody() && d.Augment != none {
		d.Views = cmp.Or(d.Views, 4)
	}
	if f.hasFile || f.fineTunes {
		d.Chroma = cmp.Or(d.Chroma, smoothChroma)
	}
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
		return errors.New("run.Options.Miner needs a loss over triplets, without loss.plus and loss.memory")
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
