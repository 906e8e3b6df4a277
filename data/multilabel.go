package data

import (
	"slices"
	"strings"
)

// MultiLabel holds the labels of samples that may have any number of labels.
type MultiLabel struct {
	// Sets has the ids of every sample's labels, in ascending order, 0 <= id < len(Classes). A sample
	// may have no labels.
	Sets [][]int64
	// Classes names the labels by id.
	Classes []string
}

// Text returns all labels of a sample as in a manifest: "red|round".
func (s *MultiLabel) Text(sample int) string {
	var names []string
	for _, id := range s.Sets[sample] {
		names = append(names, s.Classes[id])
	}
	return strings.Join(names, "|")
}

// newMultiLabel numbers labels in the natural order of their names.
func newMultiLabel(lists [][]string) *MultiLabel {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	column := NewColumn("labels", all)
	s := &MultiLabel{Sets: make([][]int64, len(lists)), Classes: column.Classes}
	at := 0
	for i, list := range lists {
		s.Sets[i] = slices.Sorted(slices.Values(column.IDs[at : at+len(list)]))
		at += len(list)
	}
	return s
}
