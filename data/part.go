package data

import "slices"

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
	out := &Part{Data: p.Data, LabelClasses: p.LabelClasses, FineClasses: p.FineClasses}
	for _, i := range positions {
		out.Index = append(out.Index, p.Index[i])
		if len(p.Label) > 0 {
			out.Label, out.Fine = append(out.Label, p.Label[i]), append(out.Fine, p.Fine[i])
		}
	}
	return out
}

// Dense returns the training labels renumbered to 0..k-1 without gaps, in the order of their ids, and
// the id of each new number.
func (p *Part) Dense() (labels, ids []int64) {
	ids = slices.Clone(p.Label)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	labels = make([]int64, len(p.Label))
	for i, id := range p.Label {
		at, _ := slices.BinarySearch(ids, id)
		labels[i] = int64(at)
	}
	return labels, ids
}
