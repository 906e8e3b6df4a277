package data

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// LeftOut describes the files or samples that were left out for one reason.
type LeftOut struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	// First names the first few, in the order found.
	First []string `json:"first"`
	// Used is set if the samples were used nevertheless, but changed as Reason says.
	Used bool `json:"used,omitempty"`
}

// String returns the count, the reason and the first names on one line.
func (l LeftOut) String() string { return tree.LeftOut(l).String() }

// AllLeftOut returns d.LeftOut, the samples that loaders of d skipped, and the remarks on others. Each
// sample is counted once for a reason.
func (d *Dataset) AllLeftOut(loaders ...Stats) []LeftOut {
	list := make([]tree.LeftOut, len(d.LeftOut))
	for i, l := range d.LeftOut {
		list[i] = tree.LeftOut(l)
		list[i].First = slices.Clone(l.First)
	}
	seen := make(map[int]bool)
	for _, s := range loaders {
		for _, k := range s.Skipped {
			if !seen[k.Sample] {
				seen[k.Sample] = true
				list = tree.Count(list, "could not be read", 1, k.Err.Error())
			}
		}
	}
	remarked := make(map[Remark]bool)
	for _, s := range loaders {
		for _, k := range s.Remarks {
			if !remarked[k] {
				remarked[k] = true
				list = tree.Count(list, k.Text, 1, d.Names[k.Sample])
				list[slices.IndexFunc(list, func(l tree.LeftOut) bool { return l.Reason == k.Text })].Used = true
			}
		}
	}
	return publicLeftOut(list)
}

// publicLeftOut returns what the readers of layouts left out.
func publicLeftOut(list []tree.LeftOut) []LeftOut {
	var out []LeftOut
	for _, l := range list {
		out = append(out, LeftOut(l))
	}
	return out
}

// AddLeftOut adds to sum the items of more, which a part of a data set left out, except the items of
// before, which the whole set left out. It names the first few items of each reason.
func AddLeftOut(sum, before, more []LeftOut) []LeftOut {
	find := func(list []LeftOut, reason string) int {
		return slices.IndexFunc(list, func(l LeftOut) bool { return l.Reason == reason })
	}
	for _, l := range more {
		if i := find(before, l.Reason); i >= 0 {
			l.Count -= before[i].Count
			l.First = l.First[min(len(l.First), len(before[i].First)):]
		}
		if l.Count <= 0 {
			continue
		}
		i := find(sum, l.Reason)
		if i < 0 {
			i = len(sum)
			sum = append(sum, LeftOut{Reason: l.Reason, Used: l.Used})
		}
		sum[i].Count += l.Count
		sum[i].First = append(sum[i].First, l.First[:min(len(l.First), max(0, tree.MaxNames-len(sum[i].First)))]...)
	}
	return sum
}

// CheckLabels returns an error if samples were left out because they lack a label that others have; see
// OpenOptions.Strict.
func (d *Dataset) CheckLabels() error {
	for _, l := range d.LeftOut {
		if strings.HasPrefix(l.Reason, tree.ReasonUnlabelled) {
			return option.Errorf("data set %s: %d samples are %s, such as %s: they are left out without %s", d.Name,
				l.Count, l.Reason, l.First[0], optStrict)
		}
	}
	return nil
}
