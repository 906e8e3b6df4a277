package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/run/internal/ranks"
	"github.com/kindred-ml/kindred/train"
)

// plan is what a run is going to do: its configuration with all keys settled, and the parts that training needs.
// newPlan settles one part after the other. Each has a file, whose functions get the configuration and the parts before
// it:
//
//	data      data.go       the data set
//	          encoders.go   which of several networks to start from
//	start     start.go      the start of the network
//	loss      objective.go  the loss, and the recipe that follows from the start
//	split     split.go      which samples train, validate and test
//	          images.go     how images become the network's input, their size, and which network is trained
//	batches   batches.go    the batches of an epoch
//	schedule  schedule.go   the number of epochs, and the learning rate
//	feeds     network.go    what reads the samples
//	network   network.go    the network, within the limit on memory
//	          head.go       the embedding layer, the proxies and the policies, by the features before training
//	others    network.go    the objective and the optimizer
//
// What they all need is before them: the configuration (config.go, keys.go, options.go), the making of networks
// (architecture.go) and the sets that evaluations score (scored_set.go). A function settles only the keys of the
// configuration that it is the first to know. All of them find the mistakes in a run and write nothing. A trainer adds
// the run folder (trainer.go, evaluation.go, time_limit.go, result.go, train.go).
type plan struct {
	cfg   Config // settled as far as the parts are
	opts  Options
	notes notes

	data      *data.Dataset
	toClose   *data.Dataset // nil if the caller opened the data set
	start     networkStart
	loss      lossChoice
	split     *split.Parts
	batches   batches
	schedule  schedule
	feeds     feeds
	memory    MemoryPlan // of the run
	network   networks
	objective train.Objective
	optimizer *train.Optimizer
	untrained *untrainedNet // the pretrained network at its own image size; nil if training uses that size
}

// Plan returns what Train would do with the same configuration and options. It opens the data
// set, divides it, resolves the configuration and makes the network, and so finds all mistakes.
// It does not train, and writes nothing.
func Plan(ctx context.Context, cfg Config, opts Options) (*Setup, error) {
	p, err := newPlan(ctx, cfg, opts)
	if err != nil {
		return nil, adviseSkipping(err)
	}
	defer p.close()
	s := p.newSetup()
	if s.Config.Train.Minutes > 0 {
		s.Config.Train.Epochs = 0 // Train measures it
	}
	return &s, nil
}

// newPlan settles all parts. On an error it leaves nothing open.
func newPlan(ctx context.Context, cfg Config, opts Options) (*plan, error) {
	opts.Resume = opts.Resume || opts.Finish
	p := &plan{cfg: cfg.clone(), opts: opts}
	if err := completeGiven(&p.cfg, &p.opts); err != nil {
		return nil, err
	}
	var err error
	if p.data, err = openDataset(ctx, &p.cfg, &p.opts); err != nil {
		return nil, err
	}
	if opts.Dataset == nil {
		p.toClose = p.data
	}
	p.notes = slices.Clone(p.data.Notes)
	if err = p.settleSamples(ctx); err == nil {
		err = p.buildNetwork(ctx)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close closes the data set. It ignores errors, because the files were only read.
func (p *plan) close() {
	if p.toClose != nil {
		_ = p.toClose.Close()
	}
}

// settleSamples settles the parts before the network.
func (p *plan) settleSamples(ctx context.Context) (err error) {
	c, opts, d := &p.cfg, &p.opts, p.data
	if err := chooseEncoder(ctx, c, opts, d, &p.notes); err != nil {
		return err
	}
	look := sync.OnceValue(func() imageShape { return measureShape(ctx, d) })
	if p.start, err = findStart(ctx, c, opts, d, look, &p.notes); err != nil {
		return err
	}
	if p.loss, err = settleLoss(c, opts, d, &p.start, look); err != nil {
		return err
	}
	if p.split, p.batches.population, err = splitDataset(ctx, c, d, p.loss.options.Rule, &p.notes); err != nil {
		return withNotes(err, d)
	}
	measured := c.Data.Size == 0 && !opts.Resume
	if err := choosePreprocessing(c, d, &p.start, &p.notes); err != nil {
		return withNotes(err, d)
	}
	chooseNetwork(c, d, &p.start)
	if measured {
		if err := measureSize(ctx, c, opts, &p.start, p.split, &p.notes); err != nil {
			return err
		}
	}
	p.batches.choosesSteps = c.Sample.Batches == 0 && opts.Sampler == nil
	if err := p.batches.makeSampler(c, opts, &p.start, &p.loss.options); err != nil {
		return withNotes(err, d)
	}
	c.Train.LR = cmp.Or(c.Train.LR, defaultLR(&p.start, &p.loss, c.Network.hasFrozenBody(), hasFewClasses(p.split)))
	c.Train.Best = cmp.Or(c.Train.Best, defaultBest(p.split, &p.loss))
	p.schedule = settleSchedule(c, scheduleFacts{
		fineTunes: p.start.fineTunes, defaultLoss: p.loss.isDefault, engine: opts.Engine != nil,
		steps: p.batches.sampler.Batches(), batch: p.batches.sampler.BatchSize(), samples: p.split.Train.Len(),
	})
	if opts.Ranks != nil {
		if err := ranks.CheckShareable(c.Train.Chunk, opts.Ranks.Size(), p.batches.sampler.BatchSize()); err != nil {
			return err
		}
	}
	return checkPairs(c, &p.loss.options, p.batches.population)
}

// newSetup describes what the run is about to do.
func (p *plan) newSetup() Setup {
	s := Setup{Dir: p.opts.Dir, Config: p.cfg, Spec: p.network.net.Spec(), Imported: p.network.imported,
		Batch: p.schedule.batch, Batches: p.schedule.steps, Memory: p.memory, Notes: p.notes, data: p.split.Train.Data,
		positivesReason: p.loss.positivesReason, usesProxies: p.loss.options.Traits().Proxies > 0}
	for _, of := range []struct {
		name string
		part *data.Part
	}{
		{"training", p.split.Train}, {ValidationSet.String(), p.split.Validation}, {TestSet.String(), p.split.Query},
		{GallerySet.String(), p.split.Gallery}, {SeenSet.String(), p.split.Seen},
	} {
		if of.part != nil && (of.part != p.split.Query || of.name == TestSet.String()) {
			s.Parts = append(s.Parts, PartSize{of.name, of.part.Len(), len(lists.Set(of.part.Fine)),
				len(lists.Set(of.part.Label))})
		}
	}
	for _, why := range []string{p.split.Why, p.split.ValidationWhy} {
		if why != "" {
			s.Reasons = append(s.Reasons, why)
		}
	}
	for _, l := range []struct {
		key string
		n   int
	}{{"train_limit", p.cfg.Data.TrainLimit}, {"test_limit", p.cfg.Data.TestLimit}} {
		if l.n > 0 {
			s.Reasons = append(s.Reasons, fmt.Sprintf("data.%s uses only the first %d of each class", l.key, l.n))
		}
	}
	return s
}
