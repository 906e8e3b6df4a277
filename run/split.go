package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/objective"
)

// splitDataset divides the samples into the parts for training and scoring. population are the samples for training.
func splitDataset(ctx context.Context, c *Config, d *data.Dataset, rule objective.RelationRule, notes *notes) (
	parts *split.Parts, p *population, err error) {
	if parts, err = selectParts(ctx, c, d, notes); err != nil {
		return nil, nil, err
	}
	if err := checkMetrics(parts, c); err != nil {
		return nil, nil, err
	}
	if p, err = newPopulation(parts.Train, rule); err != nil {
		return nil, nil, err
	}
	*notes = append(*notes, p.notes()...)
	if p.classes < 2 {
		return nil, nil, fmt.Errorf("the training samples have only one label (%s): training needs two or more%s",
			className(parts.Train.LabelClasses, parts.Train.Label[0]), adviseSearch(d))
	}
	return parts, p, nil
}

// SplitDataset divides the samples of d into the parts of the run that trained the model: training,
// validation and test. d must be the data set of that run, as Config.Data.Open opens it.
func (m *Model) SplitDataset(ctx context.Context, d *data.Dataset) (*split.Parts, error) {
	c := m.Config.clone()
	return selectParts(ctx, &c, d, new(notes))
}

// selectParts applies the label rule, the split and the limits of the configuration. It
// records the chosen split in the configuration.
func selectParts(ctx context.Context, cfg *Config, d *data.Dataset, notes *notes) (*split.Parts, error) {
	c := &cfg.Data
	c.Label, c.Fine = c.LabelColumns(d)
	sel, err := selectGroups(ctx, cfg, d, notes, split.Selection{
		Label: c.Label, Fine: c.Fine, Split: c.Split,
		TrainClasses: c.TrainClasses, TestClasses: c.TestClasses, Validation: c.Validation, Fold: c.Fold,
		Seed: cfg.Train.Seed,
	})
	if err != nil {
		return nil, err
	}
	c.Split, c.Validation = sel.Split, sel.ValidationSplit
	if sel.Seen != nil && shareSample(sel.Seen, sel.Train) {
		sel.Seen = nil // if only whole classes are held out, the seen samples are the training samples
	}
	shared := sel.Query == sel.Gallery
	among := sel.ValidationGallery == sel.Validation
	sel.Train = limitPerClass(sel.Train, c.TrainLimit)
	if sel.Validation != nil {
		sel.Validation = limitPerClass(sel.Validation, c.TrainLimit)
		sel.ValidationGallery = sel.Train
		if among {
			sel.ValidationGallery = sel.Validation
		}
	}
	sel.Query = limitPerClass(sel.Query, c.TestLimit)
	if sel.Seen != nil {
		sel.Seen = limitPerClass(sel.Seen, c.TestLimit)
	}
	if shared {
		sel.Gallery = sel.Query
	}
	return sel, nil
}

// shareSample reports whether two parts share a sample.
func shareSample(a, b *data.Part) bool {
	in := lists.Set(b.Index)
	return slices.ContainsFunc(a.Index, func(i int) bool { return in[i] })
}

// limitPerClass returns the part with the first n samples of every fine class, or with all if n is 0.
func limitPerClass(p *data.Part, n int) *data.Part {
	if n == 0 {
		return p
	}
	taken := map[int64]int{}
	var keep []int
	for i, y := range p.Fine {
		if taken[y]++; taken[y] <= n {
			keep = append(keep, i)
		}
	}
	return p.Subset(keep)
}

// selectGroups selects the samples. If data.group is unset and the network is pretrained,
// photographs in separate files are searched for bursts, and the configuration records the
// result.
func selectGroups(ctx context.Context, c *Config, d *data.Dataset, notes *notes, by split.Selection) (
	*split.Parts, error) {
	rule := &c.Data.Group
	by.Group = *rule
	if *rule != "" {
		return split.Select(ctx, d, by)
	}
	*rule = split.GroupNone
	if !c.Network.isPretrained() || !d.HasLocalFiles() || !measureShape(ctx, d).arePhotographs() {
		return split.Select(ctx, d, by)
	}
	by.Group = split.GroupFound
	sel, err := split.Select(ctx, d, by)
	switch {
	case errors.Is(err, split.ErrInseparable), err == nil && 2*sel.GroupCounts.Whole > sel.GroupCounts.Classes:
		notes.add("data.group is %s: bursts are divided, because most classes consist of one burst (data.group=%s "+
			"keeps them together)", split.GroupNone, split.GroupFound)
		by.Group = split.GroupNone
		return split.Select(ctx, d, by)
	case err == nil && sel.GroupCounts.Groups > 0:
		*rule = split.GroupFound
	}
	return sel, err
}

// population holds the training samples from which batches are drawn.
type population struct {
	part       *data.Part
	labels     []int64 // of the training part, 0..classes-1
	ids        []int64 // samples with the same id are the same picture
	classes    int
	singletons int // number of classes with a single picture

	// lossLabels are the labels that the loss gets, as relate reads them. lossClasses is the number of
	// classes among them if the loss may learn parameters for each class.
	lossLabels  []int64
	relate      func(a, b int64) objective.Relation
	lossClasses int
}

func newPopulation(p *data.Part, rule objective.RelationRule) (*population, error) {
	labels, names := p.DenseLabels()
	out := &population{part: p, labels: labels, ids: p.Identities(), classes: len(names), lossLabels: labels,
		lossClasses: len(names)}
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
			out.singletons++
		}
	}
	switch rule {
	case objective.SharedLabel:
		s := p.Data.MultiLabel
		if s == nil {
			return nil, fmt.Errorf("loss.relation: %v needs several labels for a sample, and data set %s has none: "+
				"add a column \"labels\" to a manifest, with entries such as red|round", rule, p.Data.Name)
		}
		// The loss gets the position of a sample's set of labels as its label.
		out.lossLabels, out.lossClasses = make([]int64, p.Len()), 0
		for pos, i := range p.Index {
			out.lossLabels[pos] = int64(i)
		}
		out.relate = objective.SharesLabel(s.Sets)
	case objective.CoarseOnly:
		coarse, _, err := p.Coarse()
		if err != nil {
			return nil, fmt.Errorf("loss.relation: %v: %w", rule, err)
		}
		var above []int64
		out.lossLabels, above = combineLabels(coarse, p.Fine)
		out.lossClasses = len(above)
		out.relate = objective.CoarseNotFine(func(fine int64) int64 { return above[fine] })
	}
	return out, nil
}

// combineLabels numbers the pairs of coarse and fine labels from 0. It returns the number of each
// sample's pair and the coarse label of each pair.
func combineLabels(coarse, fine []int64) (of, above []int64) {
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

// notes returns remarks about the classes.
func (p *population) notes() []string {
	switch {
	case p.singletons == 1:
		return []string{"1 training class has only one picture, which is used as a negative"}
	case p.singletons > 1:
		return []string{fmt.Sprintf("%d of %d training classes have only one picture, which is used as a negative",
			p.singletons, p.classes)}
	}
	return nil
}
