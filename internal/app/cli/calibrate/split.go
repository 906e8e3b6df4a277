package calibrate

import (
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Split divides the photos of a run by what training saw of them. A part is nil if it has too few photos.
type Split struct {
	// Train has the photos that training saw. New has photos of classes that it did not see. Known has other photos of
	// the classes that it saw, from the validation if that has enough. All has all photos of the run.
	Train, New, Known, All *data.Part
	// From describes where the classes of New come from. Missing names what New and Known lack.
	From, Missing string

	label string
}

// NewSplit divides the photos of a run: those that it trained on, and those that it kept for validation and test. label
// is the column of labels: "coarse" for the coarser ones, if there are any; anything else for the fine ones. Photos of
// the test are used only if the validation has too few.
func NewSplit(sel *split.Parts, label string) *Split {
	d := &Split{Train: sel.Train, label: label}
	saw := make(map[int64]bool)
	for _, c := range d.Labels(sel.Train) {
		saw[c] = true
	}
	kept := func(parts []*data.Part, takes func(saw bool) bool) *data.Part {
		out := sel.Train.Subset(nil)
		in := make(map[int]bool)
		for _, p := range parts {
			if p == nil {
				continue
			}
			for k, c := range d.Labels(p) {
				if takes(saw[c]) && !in[p.Index[k]] {
					in[p.Index[k]] = true
					out.Index = append(out.Index, p.Index[k])
					out.Label, out.Fine = append(out.Label, p.Label[k]), append(out.Fine, p.Fine[k])
				}
			}
		}
		return out
	}
	seen, unseen := func(saw bool) bool { return saw }, func(saw bool) bool { return !saw }
	validation := []*data.Part{sel.Validation}
	all := []*data.Part{sel.Validation, sel.Query, sel.Gallery, sel.Seen}
	d.New, d.From = kept(validation, unseen), "kept for validation"
	if d.numPairedClasses(d.New) < decide.MinStrangerClasses {
		d.New, d.From = kept(all, unseen), "kept for validation or the test"
	}
	if d.Known = kept(validation, seen); d.Known.Len() < decide.MinKnownPhotos {
		d.Known = kept(all, seen)
	}
	d.All = kept(append([]*data.Part{sel.Train}, all...), func(bool) bool { return true })
	n, m := d.numPairedClasses(d.New), d.Known.Len()
	if n < decide.MinStrangerClasses {
		d.New, d.From = nil, ""
		d.Missing = fmt.Sprintf("%s with two photos or more that training did not see (%d are needed)",
			enum.Count(n, "class"), decide.MinStrangerClasses)
	}
	if m < decide.MinKnownPhotos {
		d.Known = nil
		if d.Missing != "" {
			d.Missing += " and "
		}
		d.Missing += fmt.Sprintf("%s of the training classes that it did not train on (%d are needed)",
			enum.Count(m, "photo"), decide.MinKnownPhotos)
	}
	return d
}

// Labels returns the labels of a part.
func (d *Split) Labels(p *data.Part) []int64 {
	if d.label == "coarse" && d.Train.HasTwoLevels() {
		return p.Label
	}
	if ids, _, err := p.Coarse(); d.label == "coarse" && err == nil {
		return ids
	}
	return p.Fine
}

// Names returns the classes of a part.
func (d *Split) Names(p *data.Part) []string {
	names := d.Train.FineClasses
	if _, classes, err := d.Train.Coarse(); d.label == "coarse" && err == nil {
		names = classes
	}
	var out []string
	for _, c := range d.classes(p) {
		out = append(out, names[c])
	}
	return out
}

// classes returns the number of each photo's class, in the order of the photos.
func (d *Split) classes(p *data.Part) []int64 {
	saw := make(map[int64]bool)
	var out []int64
	for _, c := range d.Labels(p) {
		if !saw[c] {
			saw[c] = true
			out = append(out, c)
		}
	}
	return out
}

// numPairedClasses counts the classes of two photos or more.
func (d *Split) numPairedClasses(p *data.Part) int {
	count := make(map[int64]int)
	n := 0
	for _, c := range d.Labels(p) {
		if count[c]++; count[c] == 2 {
			n++
		}
	}
	return n
}

// TrainedClasses lists the classes of a column that training saw, in the order of the column.
func (d *Split) TrainedClasses(c *embedding.Column) []string {
	saw := make(map[string]bool)
	for _, n := range d.Names(d.Train) {
		saw[n] = true
	}
	var out []string
	for i := range c.Len() {
		if n := c.At(i); saw[n] {
			out = append(out, n)
			delete(saw, n)
		}
	}
	return out
}
