package run

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// Names of the samplers.
const (
	balanced     = "balanced"
	hierarchical = "hierarchical"
)

var samplers = []string{balanced, hierarchical}

// sampler draws the batches of an epoch: positions in the training part.
type sampler interface {
	train.Sampler
	BatchSize() int
}

// broughtSampler is a sampler of a program. Batches are of at most size samples, as those of
// its first epoch are.
type broughtSampler struct {
	train.Sampler
	size int
}

func (s broughtSampler) BatchSize() int { return s.size }

// bringSampler makes the sampler of a program, and looks at the first epoch that it draws.
func bringSampler(draw func(*data.Part) (train.Sampler, error), p *data.Part) (sampler, error) {
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
		return nil, wrong("it does not go back to the state that it was in: %w", err)
	}
	if n := s.Batches(); n < 1 || n != len(batches) {
		return nil, wrong("it announces %d batches and draws %d; they must be the same, and at least 1", n,
			len(batches))
	}
	out := broughtSampler{s, 0}
	for k, b := range batches {
		if len(b) == 0 {
			return nil, wrong("batch %d is empty", k)
		}
		for _, pos := range b {
			if pos < 0 || pos >= p.Len() {
				return nil, wrong("batch %d has position %d, and there are %d samples", k, pos, p.Len())
			}
		}
		out.size = max(out.size, len(b))
	}
	return out, nil
}

// population is what batches are drawn from.
type population struct {
	part    *data.Part
	labels  []int64 // of the training part, 0..classes-1
	ids     []int64 // which samples are the same picture
	classes int
	single  int // classes with one picture only

	// What the loss is given: labels as relate reads them, given classes of
	// them if the loss may learn something for each.
	seen   []int64
	relate func(a, b int64) objective.Relation
	given  int
}

func newPopulation(p *data.Part, rule objective.RelationRule) (*population, error) {
	labels, names := p.Dense()
	out := &population{part: p, labels: labels, ids: p.Identities(), classes: len(names), seen: labels,
		given: len(names)}
	first := make([]int64, len(names)) // a picture of each class, complemented
	several := make([]bool, len(names))
	for i, y := range labels {
		if first[y] == 0 {
			first[y] = ^out.ids[i]
		} else if first[y] != ^out.ids[i] {
			several[y] = true
		}
	}
	for _, s := range several {
		if !s {
			out.single++
		}
	}
	switch rule {
	case objective.SharedLabel:
		s := p.Data.Several
		if s == nil {
			return nil, fmt.Errorf("loss.relation: %v needs samples with several labels, and data set %s lists none: "+
				"a manifest does in a column \"labels\", as in red|round", rule, p.Data.Name)
		}
		// A sample's label, as the loss sees it, is where its set stands.
		out.seen, out.given = make([]int64, p.Len()), 0
		for pos, i := range p.Index {
			out.seen[pos] = int64(i)
		}
		out.relate = objective.SharesLabel(s.Sets)
	case objective.CoarseOnly:
		coarse, err := coarseLabels(p)
		if err != nil {
			return nil, fmt.Errorf("loss.relation: %v: %w", rule, err)
		}
		var above []int64
		out.seen, above = nested(coarse, p.Fine)
		out.given = len(above)
		out.relate = objective.CoarseNotFine(func(fine int64) int64 { return above[fine] })
	}
	return out, nil
}

// coarseLabels returns the label above the fine one of every sample: the one to
// train with, where that is another, or else the set's coarse one.
func coarseLabels(p *data.Part) ([]int64, error) {
	if !samePartition(p.Label, p.Fine) {
		return p.Label, nil
	}
	if p.Data.Coarse == "" {
		return nil, fmt.Errorf("data set %s has one level of labels: give a coarser one by data.label, a column "+
			"\"coarse\" of a manifest, or folders within folders", p.Data.Name)
	}
	c, err := p.Data.Column("coarse")
	if err != nil {
		return nil, err
	}
	out := make([]int64, p.Len())
	for pos, i := range p.Index {
		out[pos] = c.IDs[i]
	}
	return out, nil
}

// nested numbers the pairs of coarse and fine labels from 0 up, and returns the
// coarse label of each.
func nested(coarse, fine []int64) (of, above []int64) {
	number := map[[2]int64]int64{}
	of = make([]int64, len(fine))
	for i, f := range fine {
		k := [2]int64{coarse[i], f}
		n, ok := number[k]
		if !ok {
			n = int64(len(above))
			number[k] = n
			above = append(above, coarse[i])
		}
		of[i] = n
	}
	return of, above
}

// notes are remarks about the classes.
func (p *population) notes() []string {
	switch {
	case p.single == 1:
		return []string{"1 training class has one picture only: it serves as a negative"}
	case p.single > 1:
		return []string{fmt.Sprintf("%d of %d training classes have one picture only: they serve as negatives",
			p.single, p.classes)}
	}
	return nil
}

// checkPairs reports a run whose batches can hold no pairs for its loss. Losses
// with proxies compare samples with those; what other relations make of the
// labels only batches tell.
func checkPairs(cfg *Config, o *objective.Options, p *population) error {
	if err := checkPositives(cfg, o, p); err != nil {
		return err
	}
	return checkViews(cfg, o, p)
}

// checkPositives reports a run whose batches hold no two samples of a class, or of different
// ones.
func checkPositives(cfg *Config, o *objective.Options, p *population) error {
	t := o.Traits()
	if t.Proxies > 0 || t.Views || o.Rule != objective.Equal {
		return nil
	}
	c := &cfg.Sample
	switch {
	case p.single == p.classes:
		return fmt.Errorf("each of the %d training classes has one picture only: no sample has a positive; label "+
			"more, or use a loss with proxies%s", p.classes, lookUp(p.part.Data))
	case c.Name == balanced && c.Classes == 1 && o.Memory == 0:
		return fmt.Errorf("sample.classes: in a batch of one class no sample has a negative; take 2 or more, or " +
			"loss.memory")
	case c.Name == balanced && c.PerClass == 1 && o.Memory == 0:
		return fmt.Errorf("sample.per_class: in a batch with one sample of each class none has a positive; take 2 or " +
			"more, or loss.memory")
	}
	return nil
}

// checkViews reports views that would be the same picture, and losses that compare
// views where there is one of each sample, or no other sample of its class.
func checkViews(cfg *Config, o *objective.Options, p *population) error {
	c, d := &cfg.Sample, &cfg.Data
	if c.Views > 1 {
		if name := p.part.Data.Name; p.part.Data.Features != nil {
			return fmt.Errorf("sample.views: data set %s has ready features, which cannot be augmented: "+
				"leave it at 1, or give images", name)
		}
		if d.Augment == "" || d.Augment == none {
			return fmt.Errorf("sample.views: without augmentation the %d views of a sample are one picture: set "+
				"data.augment (light, standard, strong; characters for drawings), or leave sample.views at 1", c.Views)
		}
		if cfg.Network.frozenBody() && d.Views < c.Views {
			return fmt.Errorf("sample.views: %d views of a sample in a batch need the features of as many views: "+
				"set data.views to %d or more", c.Views, c.Views)
		}
	}
	for _, w := range append([]objective.Weighted{{Options: *o}}, o.Plus...) {
		switch {
		case !w.Options.Traits().Views:
		case c.Views < 2:
			return errors.New("loss.name: one of the losses compares views of a sample, and batches hold each sample " +
				"once: set sample.views=2 and data.augment")
		case c.Name == balanced && c.PerClass == 1 || p.single == p.classes:
			return errors.New("loss.name: one of the losses keeps the samples of a class apart, and batches hold one " +
				"of each class: take sample.per_class of 2 or more, and labels that have as many samples")
		}
	}
	return nil
}
