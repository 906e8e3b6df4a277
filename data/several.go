package data

import (
	"slices"
	"strings"
)

// Several holds the labels of samples that may have any number of them.
type Several struct {
	// Sets has the ids of every sample's labels, ascending, 0 <= id <
	// len(Classes); a sample may have none.
	Sets [][]int64
	// Classes names the labels by id.
	Classes []string
}

// splitLabels cuts "red|round" into the labels that it lists, each once.
func splitLabels(list string) []string {
	var out []string
	for label := range strings.SplitSeq(list, "|") {
		if label = strings.TrimSpace(label); label != "" && !slices.Contains(out, label) {
			out = append(out, label)
		}
	}
	return out
}

// severalOf numbers labels in the natural order of their names.
func severalOf(lists [][]string) *Several {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	column := NewColumn("labels", all)
	s := &Several{Sets: make([][]int64, len(lists)), Classes: column.Classes}
	at := 0
	for i, list := range lists {
		s.Sets[i] = slices.Sorted(slices.Values(column.IDs[at : at+len(list)]))
		at += len(list)
	}
	return s
}
