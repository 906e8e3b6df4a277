package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
)

// splitStage is the third stage of a run: the samples are divided into parts.
type splitStage struct {
	*startStage
	sel        *split.Parts
	population *population // the training samples, from which batches are drawn
}

// splitDataset divides the samples.
func splitDataset(ctx context.Context, s *startStage) (*splitStage, error) {
	d := &splitStage{startStage: s}
	if err := d.selectSamples(ctx); err != nil {
		return nil, s.withDataNotes(err)
	}
	return d, nil
}

// selectSamples selects the samples for training and scoring.
func (d *splitStage) selectSamples(ctx context.Context) (err error) {
	if d.sel, err = d.selectData(ctx); err != nil {
		return err
	}
	if err := checkMetrics(d.sel, &d.cfg); err != nil {
		return err
	}
	if d.population, err = newPopulation(d.sel.Train, d.lossOptions.Rule); err != nil {
		return err
	}
	d.notes = append(d.notes, d.population.notes()...)
	if d.population.classes < 2 {
		return fmt.Errorf("the training samples have only one label (%s): training needs two or more%s",
			className(d.sel.Train.LabelClasses, d.sel.Train.Label[0]), adviseSearch(d.data))
	}
	return nil
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
	s := startStage{datasetStage: &datasetStage{cfg: m.Config.clone(), data: d}}
	return s.selectData(ctx)
}

// selectData applies the label rule, the split and the limits of the configuration. It
// records the chosen split in the configuration.
func (s *startStage) selectData(ctx context.Context) (*split.Parts, error) {
	c := &s.cfg.Data
	c.Label, c.Fine = c.LabelColumns(s.data)
	sel, err := s.selectGroups(ctx, split.Selection{
		Label: c.Label, Fine: c.Fine, Split: c.Split,
		TrainClasses: c.TrainClasses, TestClasses: c.TestClasses, Validation: c.Validation, Fold: c.Fold,
		Seed: s.cfg.Train.Seed,
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
func (s *startStage) selectGroups(ctx context.Context, by split.Selection) (*split.Parts, error) {
	rule := &s.cfg.Data.Group
	by.Group = *rule
	if *rule != "" {
		return split.Select(ctx, s.data, by)
	}
	*rule = split.GroupNone
	if !s.cfg.Network.isPretrained() || !s.data.HasLocalFiles() || !measureShape(ctx, s.data).arePhotographs() {
		return split.Select(ctx, s.data, by)
	}
	by.Group = split.GroupFound
	sel, err := split.Select(ctx, s.data, by)
	switch {
	case errors.Is(err, split.ErrInseparable), err == nil && 2*sel.GroupCounts.Whole > sel.GroupCounts.Classes:
		s.addNote("data.group is %s: bursts are divided, because most classes consist of one burst (data.group=%s "+
			"keeps them together)", split.GroupNone, split.GroupFound)
		by.Group = split.GroupNone
		return split.Select(ctx, s.data, by)
	case err == nil && sel.GroupCounts.Groups > 0:
		*rule = split.GroupFound
	}
	return sel, err
}
