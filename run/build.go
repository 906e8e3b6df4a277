package run

import (
	"context"
	"slices"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// built holds all that the steps of a run take, and the settings that the network decides. Its
// configuration is complete.
type built struct {
	resolved

	feed      *feed             // of the training samples
	scored    []*scored         // the sets that evaluations score
	memory    MemoryPlan        // of the run
	net       *nn.Net           // which is saved
	imported  *zoo.ImportReport // of pretrained weights
	features  *features         // of a frozen body
	trained   train.Network     // net, or the half of it that is not frozen
	device    optim.Device      // which holds the parameters; nil: this process does
	mined     string            // why the positives are what they are, where no note says it
	grouped   bool              // most labels fall into groups, of too few labels to call them kinds
	objective train.Objective
	optimizer *optim.Optimizer
	untrained *untrained // the pretrained network at its own size, where training takes another
	// trainedSize is the side of the images that training had, where the run ends with the
	// untrained network; else 0.
	trainedSize int
	computed    int // as in Result
}

// assemble resolves and builds a run. On an error nothing is open.
func assemble(ctx context.Context, cfg Config, opts Options) (*built, error) {
	r, err := resolve(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	b, err := build(ctx, *r)
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// build makes the parts of a run. It returns what it has made also with an error, to be closed.
func build(ctx context.Context, r resolved) (*built, error) {
	b := &built{resolved: r}
	b.cfg, b.notes, b.known.note = r.cfg.clone(), slices.Clip(r.notes), b.note
	if err := b.readSamples(ctx); err != nil {
		return b, err
	}
	spec, err := b.describe()
	if err != nil {
		return b, err
	}
	if err := b.fit(spec); err != nil {
		return b, err
	}
	if b.cfg.Network.Precision == string(nn.BFloat16) && !nn.BFloat16.Fast() && b.opts.Engine == nil {
		b.note("network.precision=bfloat16: this processor has no instructions for it (AMX, AVX512_BF16): its " +
			"rounding is imitated, which is much slower than float32")
	}
	if b.net, b.imported, err = newNetwork(&b.cfg, b.origin.own, b.origin.start.Path, spec); err != nil {
		return b, err
	}
	if err := b.freeze(); err != nil {
		return b, err
	}
	if err := b.prepare(ctx); err != nil {
		return b, err
	}
	if b.objective, err = b.newObjective(); err != nil {
		return b, err
	}
	if err := b.engage(); err != nil {
		return b, err
	}
	b.optimizer, err = newOptimizer(&b.cfg.Train, b.sampler.Batches(), b.trained, b.objective, b.device)
	if err != nil {
		return b, err
	}
	b.untrained, err = b.newUntrained()
	return b, err
}

// readSamples makes ready what gives samples to training and to evaluations.
func (b *built) readSamples(ctx context.Context) (err error) {
	if b.cfg.Data.Cache {
		if err := b.cacheImages(ctx); err != nil {
			return err
		}
	}
	if b.feed, err = newFeed(b.sel.Train, b.cfg.Data, b.cfg.Train.Seed, true, b.bytes()); err != nil {
		return err
	}
	if b.scored, err = newScored(b.sel, &b.cfg, b.bytes()); err != nil {
		return err
	}
	among(b.opts.Ranks, b.scored)
	return nil
}

// describe describes the network for the samples as they are fed.
func (b *built) describe() (*nn.Spec, error) {
	h, w, c := b.feed.shape()
	var err error
	if b.known.body, err = b.cfg.bodyDim(b.origin.own, h, w, c); err != nil {
		return nil, err
	}
	b.cfg.settle(&b.known)
	return networkSpec(&b.cfg, b.origin.own, h, w, c)
}

// newObjective completes the options of the loss by the classes and the network, and makes it.
func (b *built) newObjective() (train.Objective, error) {
	o := &b.options
	o.Classes, o.Relate = b.from.given, b.from.relate
	o.Dim, o.Seed = b.net.Dim(), b.cfg.Train.Seed
	o.Mine.Seed = b.cfg.Train.Seed
	made, err := objective.New(*o)
	if err != nil || b.opts.Miner == nil {
		return made, err
	}
	return guided{made, b.opts.Miner}, nil
}
