package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
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

// hasFewClasses reports whether few labels train and the test has no class of the training part. What is learned then
// helps little with other classes.
func hasFewClasses(parts *split.Parts) bool {
	return countDistinct(parts.Train.Label) < fewClasses && hasOnlyUnseenClasses(parts)
}

// hasOnlyUnseenClasses reports whether the test has no class of the training part.
func hasOnlyUnseenClasses(sel *split.Parts) bool {
	in := map[int64]bool{}
	for _, y := range sel.Train.Fine {
		in[y] = true
	}
	return !slices.ContainsFunc(sel.Query.Fine, func(y int64) bool { return in[y] })
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
	in := make(map[int]bool, b.Len())
	for _, i := range b.Index {
		in[i] = true
	}
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

// groupColumn returns the column of a manifest that data.group names, or "" for a rule.
func groupColumn(rule string) string {
	switch rule {
	case split.GroupNone, split.GroupFound, split.GroupFolder:
		return ""
	}
	return rule
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
