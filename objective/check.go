package objective

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/loss"
)

// check reports options that make no sense, or none with a loss of these traits.
func (o *Options) check(weight float64, traits loss.Traits) error {
	if o.Trim < 0 || o.Trim >= 1 || math.IsNaN(o.Trim) {
		return fmt.Errorf("trim is %v: it must be at least 0 and below 1", o.Trim)
	}
	for _, n := range []struct {
		key   string
		value float64
	}{{"l2", o.L2}, {"zero_mean", o.ZeroMean}, {"weight", weight}} {
		if !(n.value >= 0 && n.value <= math.MaxFloat64) {
			return fmt.Errorf("%s is %v: it must be a number of at least 0", n.key, n.value)
		}
	}
	if o.Memory < 0 {
		return fmt.Errorf("memory is %d: it must not be negative", o.Memory)
	}
	related := o.Relate != nil || o.Rule != EqualLabel
	if o.Loss.Terms().Batches() != nil && (o.Memory > 0 || o.Trim > 0 || related) {
		return errors.New("a loss of a whole batch takes no memory, trim or relation of labels")
	}
	if o.Loss.Terms().Sets() != nil && o.Trim > 0 {
		return errors.New("trim is for losses over triplets or pairs")
	}
	if o.Triplets != MinedTriplets {
		if o.Loss.Terms().Tuples() == nil || o.Memory > 0 || o.Relate != nil || o.Rule != EqualLabel {
			return fmt.Errorf("triplets is %v: it needs a loss over triplets, without a memory or a "+
				"relation of labels", o.Triplets)
		}
	}
	if traits.Views && (o.Memory > 0 || o.Relate != nil || o.Rule != EqualLabel) {
		return errors.New("a loss between views of a sample takes neither a memory nor a relation of labels")
	}
	if traits.Proxies > 0 && (o.Memory > 0 || related) {
		return errors.New("a loss with proxies takes neither a memory nor a relation of labels")
	}
	if related && o.Relate == nil {
		return fmt.Errorf("relation is %v: it needs labels that are sets or have classes above them", o.Rule)
	}
	if (traits.CrossRows || traits.Passes > 0) && o.Memory > 0 {
		return errors.New("this loss looks at other anchors of the batch and takes no memory")
	}
	return checkMining(traits, o.Mine)
}

// checkMining reports whether a miner makes sense and a loss takes what it
// chooses.
func checkMining(traits loss.Traits, c MiningConfig) error {
	if err := c.Check(); err != nil {
		return err
	}
	all := c.Positives == AllPositives && c.Negatives == AllNegatives && c.CustomPositives == nil &&
		c.CustomNegatives == nil
	positives, negatives := c.Names()
	if (traits.AllPairs || traits.Proxies > 0) && !all {
		return fmt.Errorf("this loss is defined for all positives with all negatives, not %s with %s", positives,
			negatives)
	}
	if (traits.AllPairs || traits.Proxies > 0) && (c.PositiveRange != DistanceRange{} ||
		c.NegativeRange != DistanceRange{}) {
		return errors.New("this loss is defined for all positives with all negatives: it takes no positives_from, " +
			"positives_to, negatives_from or negatives_to")
	}
	return nil
}

// checkLoss reports a loss that lacks a method which its traits ask for.
func checkLoss(l loss.Loss, traits loss.Traits) error {
	terms := l.Terms()
	pairs, sets := terms.Pairs() != nil, terms.Sets() != nil
	_, passes := l.(loss.MultiPass)
	_, learner := l.(loss.Learner)
	_, perLabel := l.(loss.PerLabel)
	var lack string
	switch {
	case reflect.TypeOf(terms.Loss()) != reflect.TypeOf(l):
		lack = fmt.Sprintf("its method Terms must return the terms of the loss itself, not of %T", terms.Loss())
	case traits.Measure > loss.Euclidean || traits.Reduction > loss.Sum:
		lack = fmt.Sprintf("there is no measure %v or no reduction %v", traits.Measure, traits.Reduction)
	case traits.CrossRows && !sets:
		lack = "with the trait CrossRows it must be a loss.Sets"
	case traits.Passes < 0 || traits.Passes > 2:
		lack = fmt.Sprintf("it asks for %d passes; there are 0 to 2", traits.Passes)
	case traits.Passes > 0 && (!passes || traits.Sums < 1):
		lack = "with the trait Passes it must be a loss.MultiPass that sums at least one number"
	case traits.Proxies > 0 && traits.Views:
		lack = "it has views and proxies"
	case traits.Proxies < 0 || traits.ProxyAnchors && traits.Proxies == 0:
		lack = fmt.Sprintf("it has %d proxies a class", traits.Proxies)
	case traits.Proxies > 0 && !(sets && learner):
		lack = "with the trait Proxies it must be a loss.Sets and a loss.Learner"
	case perLabel && !pairs:
		lack = "a loss.PerLabel must be a loss.Pairs"
	default:
		return nil
	}
	return fmt.Errorf("the loss %T: %s", l, lack)
}

// createParams makes a loss create its parameters and returns them; none for one that
// learns nothing.
func (o *Options) createParams(traits loss.Traits) ([]*loss.Param, error) {
	l, ok := o.Loss.(loss.Learner)
	if !ok {
		return nil, nil
	}
	rows := budget.Product(int64(o.Classes), int64(traits.Proxies))
	// Values and gradients of 4 bytes.
	if err := budget.Check(fmt.Sprintf("proxies of %d classes, %d for each", o.Classes, traits.Proxies),
		budget.Product(8, rows, int64(o.Dim))); err != nil {
		return nil, err
	}
	if err := budget.Check(fmt.Sprintf("sums of %d numbers", traits.Sums),
		budget.Product(16, int64(traits.Sums))); err != nil {
		return nil, err
	}
	if err := l.Learn(o.Classes, o.Dim, o.Seed); err != nil {
		return nil, err
	}
	params := l.Params()
	for k, p := range params {
		if p == nil || len(p.Value) == 0 || len(p.Grad) != len(p.Value) {
			return nil, fmt.Errorf("the loss %T: parameter %d must have numbers, as many in Grad as Value",
				l, k)
		}
	}
	if _, ok := l.(loss.PerLabel); ok && len(params) == 0 {
		return nil, fmt.Errorf("the loss %T learns a number for each label but has no parameter", l)
	}
	if traits.Proxies == 0 {
		return params, nil
	}
	if len(params) == 0 || len(params[0].Shape) != 2 || int64(params[0].Shape[0]) != rows ||
		params[0].Shape[1] != o.Dim || int64(len(params[0].Value)) != rows*int64(o.Dim) {
		return nil, fmt.Errorf("the loss %T: its first parameter must hold %d proxies of %d numbers", l,
			rows, o.Dim)
	}
	return params, nil
}
