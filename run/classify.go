package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval/rank"
	dense "github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/nn"
)

// The losses that a pretrained start takes by default: the loss of a classifier or, if labels are coarse, a loss of
// pairs with easy positives. docs/design/finetune.md has the measurements.
const (
	classLoss = "cosface"
	pairLoss  = "multisimilarity"
)

// classBatch is the number of samples in a batch for a loss with proxies. Each sample is compared with all classes,
// whatever else is in the batch, so that small batches with few samples of a class give more steps.
const classBatch = 32

// settleOpen chooses the loss that the configuration leaves open, by the features before training.
func (r *recipe) settleOpen(ctx context.Context) (err error) {
	if !r.open {
		return nil
	}
	b, err := r.bare(r.cfg.Data.Size)
	if err != nil {
		return err
	}
	body, err := b.net.Body()
	if err != nil {
		return err
	}
	if r.begin, err = r.featuresBy(ctx, body, b.cfg.Data); err != nil {
		return err
	}
	if err := r.findKinds(ctx); err != nil || r.kinds.Coarse() {
		return err
	}
	r.cfg.Loss["name"] = classLoss
	if r.options, err = r.cfg.objective(); err != nil {
		return err
	}
	n, head := &r.cfg.Network, ""
	if n.Dim == 0 && n.Head == "" && r.sel.Train.Len()-r.from.classes >= wccnFreedom && r.begin.x.Cols <= mostWCCN {
		n.Head, head = wccnHead, " and network.head is "+wccnHead
	}
	r.note("loss.name is %s%s: by the pretrained features, %v, so labels are not coarse", classLoss, head, r.kinds)
	return nil
}

// usualRate returns the default of train.lr for the start, the loss and the division.
func (r *recipe) usualRate() float64 {
	few := distinct(r.sel.Train.Label) < fewClasses && unseen(r.sel)
	switch {
	case !r.tunes():
		return 1e-3
	case r.cfg.Network.frozenBody() || r.classifies() && !few:
		return 3e-4
	case few && !r.classifies():
		return 3e-5
	}
	return 1e-4
}

// usualBest returns the default of train.best. For validation classes that are not trained, a classifier takes MAP@R:
// it draws every sample towards the classes that it trains, so that training samples are distractors that say less with
// every epoch. Other losses take the margin.
func (r *recipe) usualBest() string {
	switch {
	case r.sel.Validation == nil:
		return none
	case r.sel.Validation != r.sel.ValidationGallery:
		return marginKey
	case r.classifies():
		return validationMAPKey
	}
	return marginDistractorsKey
}

// classifies reports whether the run takes classLoss because the configuration leaves the loss open.
func (r *recipe) classifies() bool { return r.open && r.cfg.Loss["name"] == classLoss }

// mostWCCN is the largest number of features for which an embedding layer starts as wccn by default. Twice as many
// take four times the memory and eight times the time.
const mostWCCN = 4096

// fewOfClass settles the batches of a loss with proxies: as few samples of a class as fill the batch.
func (r *recipe) fewOfClass() {
	c := &r.cfg.Sample
	if c.Name != balanced || r.options.Rule != 0 {
		return
	}
	if c.Classes == 0 {
		c.Classes = min(r.from.classes, max(2, classBatch/max(c.PerClass, 1)))
	}
	c.PerClass = cmp.Or(c.PerClass, max(1, (classBatch+c.Classes/2)/c.Classes))
}

// startFeatures are the features of the training samples before training.
type startFeatures struct {
	x      *dense.Dense
	labels []int64 // training labels
	seen   []int64 // labels as the loss gets them
}

// featuresAt returns the features of the training samples at the given positions.
func (r *recipe) featuresAt(x *dense.Dense, pos []int) *startFeatures {
	return &startFeatures{x, pick(r.sel.Train.Label, pos), pick(r.from.seen, pos)}
}

// featuresBy computes the features of the training samples, prepared as cfg says, by a network without its embedding
// layer.
func (r *recipe) featuresBy(ctx context.Context, body *nn.Net, cfg DataConfig) (*startFeatures, error) {
	feed, err := newFeed(r.sel.Train, cfg, r.cfg.Train.Seed, false, false)
	if err != nil {
		return nil, err
	}
	if r.opts.Features != nil {
		feed.data = watched{feed.data, func(done int) { r.opts.Features(done, feed.part.Len()) }}
	}
	e, err := embed(ctx, body, feed, r.cfg.Eval.Batch)
	if err != nil {
		return nil, err
	}
	return r.featuresAt(e.X, e.Pos), nil
}

// findKinds looks for sub-classes among the features before training.
func (r *recipe) findKinds(ctx context.Context) error {
	if r.kinds != nil {
		return nil
	}
	k, err := discover.Judge(ctx, rank.Normalized(r.begin.x), r.begin.labels, discover.Options{Seed: r.cfg.Train.Seed})
	if err != nil {
		return fmt.Errorf("looking for sub-classes: %w", err)
	}
	r.kinds = k
	return nil
}
