package run

import (
	"context"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/mine"
)

// positivesKey is the key that decidePolicies decides about.
const positivesKey = "positives"

// judges tells whether the features of a new run's start decide which positives of an anchor
// count: nobody has said it, and the loss is not one that is defined for all pairs.
func (t *built) judges() bool {
	traits := t.options.Traits()
	return t.tunes() && t.cfg.Mine[positivesKey] == nil && !traits.AllPairs && traits.Proxies == 0
}

// decidePolicies decides which positives and negatives of an anchor count, in the options
// and in the configuration. They are those that the configuration names, and else the loss's customary
// ones, which the options have (objective.Customary); but the features of a pretrained start, x with the
// labels of its rows, decide about positives that are open. x is nil without such features.
//
// Where labels are coarse, easy positives keep the kinds within them apart. Where they are
// not, a random positive takes the place of an easy one.
func (t *built) decidePolicies(ctx context.Context, x *mat.Dense, labels []int64) error {
	switch {
	case x != nil:
		if err := t.judge(ctx, x, labels); err != nil {
			return err
		}
	case t.opts.Miner != nil:
		return nil
	case t.cfg.Mine[positivesKey] != nil:
		t.mined = "as set"
	default:
		t.mined = "as usual for this loss"
	}
	if t.opts.Positives == nil {
		t.cfg.Mine[positivesKey] = t.options.Mine.Positives.String()
	}
	if t.opts.Negatives == nil {
		t.cfg.Mine[negativesKey] = t.options.Mine.Negatives.String()
	}
	return nil
}

// judge decides about the positives by features, and tells the user why.
func (t *built) judge(ctx context.Context, x *mat.Dense, labels []int64) error {
	o := &t.options
	k, err := discover.Judge(ctx, rank.Normalized(x), labels, discover.Options{Seed: t.cfg.Train.Seed})
	if err != nil {
		return err
	}
	why := "a label is one kind of thing"
	switch {
	case k.Coarse():
		o.Mine.Positives = mine.EasyPositive
		why = "labels are coarse, and easy positives keep the kinds within them apart"
	case k.Half():
		t.grouped = true
		why = "of so few labels series of photos cannot be told from kinds; mine.positives=easy is for labels of " +
			"unrelated kinds, from which the usual positives learn nothing"
	case k.Several > 0:
		why = "most labels are one kind of thing"
	}
	if !k.Coarse() && o.Mine.Positives == mine.EasyPositive {
		o.Mine.Positives = mine.RandomPositive
	}
	t.note("mine.positives is %v: by the pretrained features, %v: %s", o.Mine.Positives, k, why)
	return nil
}
