package run

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// sampler draws the batches of an epoch, as positions in the training part.
type sampler interface {
	train.Sampler
	BatchSize() int
}

// batches are the batches of an epoch.
type batches struct {
	population   *population // the training samples, from which batches are drawn
	sampler      sampler
	choosesSteps bool // the configuration leaves the number of steps in an epoch open
}

// makeSampler makes the sampler: the program's own or the configuration's.
func (b *batches) makeSampler(c *Config, opts *Options, start *networkStart, o *objective.Options) (err error) {
	if opts.Sampler != nil {
		b.sampler, err = newCustomSampler(opts.Sampler, b.population.part)
		return err
	}
	if start.fineTunes && o.Traits().Proxies > 0 {
		c.Sample.chooseProxyBatch(o.Rule, b.population.classes)
	}
	if b.sampler, err = newConfiguredSampler(c, b.population); err != nil {
		return err
	}
	least := numSteps(minEpochSamples, b.sampler.BatchSize())
	if c.Sample.Batches == 0 && start.fineTunes && b.sampler.Batches() < least {
		c.Sample.Batches = least
		b.sampler, err = newConfiguredSampler(c, b.population)
	}
	return err
}

// minEpochSamples is the least number of samples that an epoch from a pretrained start draws.
const minEpochSamples = 1024

// numSteps returns the number of batches of the given size that draw about as many samples, at least one.
func numSteps(samples, batch int) int {
	n := max(batch, 1)
	return max((samples+n/2)/n, 1)
}

// newConfiguredSampler makes the sampler of the configuration, and fills in the keys of cfg that depend on the classes.
func newConfiguredSampler(cfg *Config, p *population) (sampler, error) {
	c := &cfg.Sample
	if c.Name == hierarchical {
		coarse, _, err := p.part.Coarse()
		if err != nil {
			return nil, fmt.Errorf("sample.name: %s: %w", hierarchical, err)
		}
		s, err := sample.NewHierarchical(coarse, p.part.Fine, sample.HierarchyConfig{
			Coarse: c.Coarse, Fine: c.Fine, PerClass: c.PerClass, Batches: c.Batches, Views: c.Views,
			Seed: cfg.Train.Seed,
		})
		if err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		c.Coarse, c.Fine, c.PerClass = s.Config().Coarse, s.Config().Fine, s.Config().PerClass
		return s, nil
	}
	s, err := sample.NewBalanced(p.labels, sample.BalancedConfig{Classes: c.Classes, PerClass: c.PerClass,
		Batches: c.Batches, Views: c.Views, Seed: cfg.Train.Seed})
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	c.Classes, c.PerClass = s.Config().Classes, s.Config().PerClass
	return s, nil
}

// proxyBatchSize is the number of samples in a batch for a loss with proxies. Each sample is compared with all classes,
// whatever else is in the batch, so that small batches with few samples of a class give more steps.
const proxyBatchSize = 32

// chooseProxyBatch chooses the batches of a loss with proxies: as few samples of a class as fill the batch.
func (c *SampleConfig) chooseProxyBatch(rule objective.RelationRule, classes int) {
	if c.Name != balanced || rule != 0 {
		return
	}
	if c.Classes == 0 {
		c.Classes = min(classes, max(2, proxyBatchSize/max(c.PerClass, 1)))
	}
	c.PerClass = cmp.Or(c.PerClass, max(1, (proxyBatchSize+c.Classes/2)/c.Classes))
}

// customSampler is a program's own sampler. size is the size of the largest batch of its
// first epoch.
type customSampler struct {
	train.Sampler
	size int
}

func (s customSampler) BatchSize() int { return s.size }

// newCustomSampler makes the program's own sampler, and checks the first epoch that it draws.
func newCustomSampler(draw func(*data.Part) (train.Sampler, error), p *data.Part) (sampler, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("run.Options.Sampler: "+format, args...)
	}
	s, err := draw(p)
	if err != nil {
		return nil, wrong("%w", err)
	}
	start := s.State()
	batches := s.Epoch()
	if err := s.Restore(start); err != nil {
		return nil, wrong("cannot restore its first state: %w", err)
	}
	if n := s.Batches(); n < 1 || n != len(batches) {
		return nil, wrong("Batches returns %d, but an epoch has %d: they must be equal, and at least 1", n,
			len(batches))
	}
	out := customSampler{s, 0}
	for k, b := range batches {
		if len(b) == 0 {
			return nil, wrong("batch %d is empty", k)
		}
		for _, pos := range b {
			if pos < 0 || pos >= p.Len() {
				return nil, wrong("batch %d contains position %d, but there are only %d samples", k, pos, p.Len())
			}
		}
		out.size = max(out.size, len(b))
	}
	return out, nil
}

// checkPairs returns an error if batches can hold no pairs for the loss. Losses with proxies
// need no pairs. Relations other than equal labels cannot be checked before batches are drawn.
func checkPairs(cfg *Config, o *objective.Options, p *population) error {
	if err := checkPositives(cfg, o, p); err != nil {
		return err
	}
	return checkViews(cfg, o, p)
}

// checkPositives returns an error if no batch holds two samples of one class, or samples of
// two classes.
func checkPositives(cfg *Config, o *objective.Options, p *population) error {
	t := o.Traits()
	if t.Proxies > 0 || t.Views || o.Rule != objective.EqualLabel {
		return nil
	}
	c := &cfg.Sample
	views := t.OtherViews && c.Views > 1 // each sample has a positive
	switch {
	case p.singletons == p.classes && !views:
		return fmt.Errorf("each of the %d training classes has only one picture, so no sample has a positive: label "+
			"more pictures, or use a loss with proxies%s", p.classes, adviseSearch(p.part.Data))
	case c.Name == balanced && c.Classes == 1 && o.Memory == 0:
		return fmt.Errorf("sample.classes is 1: no sample in a batch has a negative; set it to 2 or more, or set " +
			"loss.memory")
	case c.Name == balanced && c.PerClass == 1 && o.Memory == 0 && !views:
		return fmt.Errorf("sample.per_class is 1: no sample in a batch has a positive; set it to 2 or more, or set " +
			"loss.memory")
	}
	return nil
}

// checkViews returns an error if the views of a sample would be the same picture, or if the
// loss compares views or samples of a class and batches have only one.
func checkViews(cfg *Config, o *objective.Options, p *population) error {
	c, d := &cfg.Sample, &cfg.Data
	if c.Views > 1 {
		if name := p.part.Data.Name; p.part.Data.Features != nil {
			return fmt.Errorf("sample.views: data set %s holds ready features, which cannot be augmented: "+
				"set sample.views to 1, or use a data set of images", name)
		}
		if d.Augment == "" || d.Augment == none {
			return fmt.Errorf("sample.views is %d, but without augmentation all views of a sample are equal: set "+
				"data.augment (light, standard, strong; characters for drawings), or sample.views to 1", c.Views)
		}
		if cfg.Network.hasFrozenBody() && d.Views < c.Views {
			return fmt.Errorf("sample.views is %d: the features of a frozen body need as many views: "+
				"set data.views to %d or more", c.Views, c.Views)
		}
	}
	for _, w := range append([]objective.Weighted{{Options: *o}}, o.Plus...) {
		switch {
		case !w.Options.Traits().Views:
		case c.Views < 2:
			return errors.New("loss.name: a loss compares views of a sample, but batches hold each sample once: " +
				"set sample.views=2 and data.augment")
		case c.Name == balanced && c.PerClass == 1 || p.singletons == p.classes:
			return errors.New("loss.name: a loss keeps the samples of a class apart, but batches hold one sample of " +
				"each class: set sample.per_class to 2 or more, and use labels with as many samples")
		}
	}
	return nil
}
