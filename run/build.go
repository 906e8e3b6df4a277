package run

import (
	"cmp"
	"context"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// built is the last stage of a run before it trains: all that steps take. Its configuration is complete.
type built struct {
	*recipe

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

// assemble goes through all stages. On an error nothing is open.
func assemble(ctx context.Context, cfg Config, opts Options) (b *built, err error) {
	o, err := openData(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	s, err := newStart(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := divide(ctx, s)
	if err != nil {
		return nil, err
	}
	r, err := newRecipe(ctx, d)
	if err != nil {
		return nil, err
	}
	return build(ctx, r)
}

// build makes the network and what trains it, and settles what the network decides.
func build(ctx context.Context, r *recipe) (*built, error) {
	b := &built{recipe: r}
	if err := b.readSamples(ctx); err != nil {
		return nil, err
	}
	spec, err := b.describe()
	if err != nil {
		return nil, err
	}
	if err := b.fit(spec); err != nil {
		return nil, err
	}
	if b.cfg.Network.Precision == string(nn.BFloat16) && !nn.BFloat16.Fast() && b.opts.Engine == nil {
		b.note("network.precision=bfloat16: this processor has no instructions for it (AMX, AVX512_BF16): its " +
			"rounding is imitated, which is much slower than float32")
	}
	if b.net, b.imported, err = newNetwork(&b.cfg, b.file, b.weights.Path, spec); err != nil {
		return nil, err
	}
	if err := b.freeze(); err != nil {
		return nil, err
	}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	if b.objective, err = b.newObjective(); err != nil {
		return nil, err
	}
	if err := b.engage(); err != nil {
		return nil, err
	}
	b.optimizer, err = newOptimizer(&b.cfg.Train, b.sampler.Batches(), b.trained, b.objective, b.device)
	if err != nil {
		return nil, err
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

// describe describes the network for the samples as they are fed. It settles the head of a frozen
// body, which passes on its features unless the configuration says otherwise.
func (b *built) describe() (*nn.Spec, error) {
	h, w, c := b.feed.shape()
	body, err := b.cfg.bodyDim(b.file, h, w, c)
	if err != nil {
		return nil, err
	}
	if n := &b.cfg.Network; body > 0 {
		if n.Dim = cmp.Or(n.Dim, body); n.Dim == body {
			n.Head = cmp.Or(n.Head, identityHead)
		}
	}
	return networkSpec(&b.cfg, b.file, h, w, c)
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
