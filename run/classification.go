package run

import "cmp"

// The losses that a pretrained start takes by default: the loss of a classifier or, with a frozen body or a key of mine
// or loss, a loss of pairs. docs/design/finetune.md has the measurements.
const (
	classificationLoss = "cosface"
	pairLoss           = "multisimilarity"
)

// proxyBatchSize is the number of samples in a batch for a loss with proxies. Each sample is compared with all classes,
// whatever else is in the batch, so that small batches with few samples of a class give more steps.
const proxyBatchSize = 32

// defaultLR returns the default of train.lr for the start, the loss and the division.
func (r *recipe) defaultLR() float64 {
	few := countDistinct(r.sel.Train.Label) < fewClasses && hasOnlyUnseenClasses(r.sel)
	switch {
	case !r.isFineTuning():
		return 1e-3
	case r.cfg.Network.hasFrozenBody() || r.choosesLoss && !few:
		return 3e-4
	case few && !r.choosesLoss:
		return 3e-5
	}
	return 1e-4
}

// defaultBest returns the default of train.best. The default loss takes MAP@R of the validation samples: a classifier
// draws every sample towards the classes that it trains, so that training samples are distractors that say less with
// every epoch. Other losses take the margin.
func (r *recipe) defaultBest() string {
	switch {
	case r.sel.Validation == nil:
		return none
	case r.sel.Validation != r.sel.ValidationGallery:
		return marginKey
	case r.choosesLoss:
		return validationMAPKey
	}
	return marginDistractorsKey
}

// startsHeadAsWCCN reports whether the embedding layer starts as wccn unless there are too many features:
// the configuration leaves the loss and the layer open, and there are enough samples to compute it.
func (r *recipe) startsHeadAsWCCN() bool {
	n := &r.cfg.Network
	return r.choosesLoss && n.Dim == 0 && n.Head == "" && r.sel.Train.Len()-r.population.classes >= minWCCNFreedom
}

// maxWCCNFeatures is the largest number of features for which an embedding layer starts as wccn by default.
// Twice as many take four times the memory and eight times the time.
const maxWCCNFeatures = 4096

// chooseProxyBatch chooses the batches of a loss with proxies: as few samples of a class as fill the batch.
func (r *recipe) chooseProxyBatch() {
	c := &r.cfg.Sample
	if c.Name != balanced || r.lossOptions.Rule != 0 {
		return
	}
	if c.Classes == 0 {
		c.Classes = min(r.population.classes, max(2, proxyBatchSize/max(c.PerClass, 1)))
	}
	c.PerClass = cmp.Or(c.PerClass, max(1, (proxyBatchSize+c.Classes/2)/c.Classes))
}
