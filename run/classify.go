package run

import "cmp"

// The losses that a pretrained start takes by default: the loss of a classifier or, with a frozen body or a key of mine
// or loss, a loss of pairs. docs/design/finetune.md has the measurements.
const (
	classLoss = "cosface"
	pairLoss  = "multisimilarity"
)

// classBatch is the number of samples in a batch for a loss with proxies. Each sample is compared with all classes,
// whatever else is in the batch, so that small batches with few samples of a class give more steps.
const classBatch = 32

// usualRate returns the default of train.lr for the start, the loss and the division.
func (r *recipe) usualRate() float64 {
	few := distinct(r.sel.Train.Label) < fewClasses && unseen(r.sel)
	switch {
	case !r.tunes():
		return 1e-3
	case r.cfg.Network.frozenBody() || r.open && !few:
		return 3e-4
	case few && !r.open:
		return 3e-5
	}
	return 1e-4
}

// usualBest returns the default of train.best. The default loss takes MAP@R of the validation samples: a classifier
// draws every sample towards the classes that it trains, so that training samples are distractors that say less with
// every epoch. Other losses take the margin.
func (r *recipe) usualBest() string {
	switch {
	case r.sel.Validation == nil:
		return none
	case r.sel.Validation != r.sel.ValidationGallery:
		return marginKey
	case r.open:
		return validationMAPKey
	}
	return marginDistractorsKey
}

// opensHead reports whether the embedding layer starts as wccn unless there are too many features: the configuration
// leaves the loss and the layer open, and there are enough samples to compute it.
func (r *recipe) opensHead() bool {
	n := &r.cfg.Network
	return r.open && n.Dim == 0 && n.Head == "" && r.sel.Train.Len()-r.from.classes >= wccnFreedom
}

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
