package data

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/lists"
)

// Part is a list of samples of a data set with the labels in use. Position p of the part is sample
// Index[p]. All slices have the same length, but labels are nil in a set without labels.
type Part struct {
	Data  *Dataset
	Index []int
	// Label is the training label, and Fine the label for scoring.
	Label, Fine []int64
	// LabelClasses and FineClasses name the classes by id.
	LabelClasses, FineClasses []string
}

// Len returns the number of samples.
func (p *Part) Len() int { return len(p.Index) }

// Subset returns the part with the samples at the given positions.
func (p *Part) Subset(positions []int) *Part {
	out := &Part{Data: p.Data, Index: lists.At(p.Index, positions), LabelClasses: p.LabelClasses,
		FineClasses: p.FineClasses}
	if len(p.Label) > 0 {
		out.Label, out.Fine = lists.At(p.Label, positions), lists.At(p.Fine, positions)
	}
	return out
}

// Coarse returns the coarser label of every sample and the names of the classes: the training label if it differs
// from the fine one, otherwise the data set's coarse column. It is an error if the set has one level of labels.
func (p *Part) Coarse() (ids []int64, classes []string, err error) {
	if p.HasTwoLevels() {
		return p.Label, p.LabelClasses, nil
	}
	if p.Data.Coarse == "" {
		return nil, nil, fmt.Errorf("data set %s has one level of labels: give coarser labels by data.label, by a "+
			"column \"coarse\" of a manifest, or by folders within folders", p.Data.Name)
	}
	c, err := p.Data.Column(p.Data.Coarse)
	if err != nil {
		return nil, nil, err
	}
	ids = lists.At(c.IDs, p.Index)
	if l := p.Data.Levels; l != nil && l.Scored == coarseName && samePartition(ids, p.Fine) {
		return nil, nil, fmt.Errorf("the top folders of data set %s are its fine labels too, as %s: data.fine=%s "+
			"takes the folders in them", p.Data.Name, l.Why, fineName)
	}
	return ids, c.Classes, nil
}

// HasTwoLevels reports whether the training labels and the fine labels group the samples differently.
func (p *Part) HasTwoLevels() bool { return !samePartition(p.Label, p.Fine) }

// samePartition reports whether two columns group the samples alike.
func samePartition(a, b []int64) bool {
	ab, ba := map[int64]int64{}, map[int64]int64{}
	for i := range a {
		if v, ok := ab[a[i]]; ok && v != b[i] {
			return false
		}
		if v, ok := ba[b[i]]; ok && v != a[i] {
			return false
		}
		ab[a[i]], ba[b[i]] = b[i], a[i]
	}
	return true
}

// DenseLabels returns the training labels renumbered to 0..k-1 without gaps, in the order of their ids, and
// the id of each new number.
func (p *Part) DenseLabels() (labels, ids []int64) {
	return lists.Rank[int64](p.Label)
}
