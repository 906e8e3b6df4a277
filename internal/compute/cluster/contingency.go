package cluster

import (
	"cmp"
	"fmt"
	"slices"
)

// Table is the contingency table of two labelings of the same n items, classes
// in rows and clusters in columns, kept sparse.
type Table struct {
	n        int
	classes  []int // items per class, in order of first appearance
	clusters []int // items per cluster
	cells    []cell
}

// cell counts the items of one class in one cluster. Empty cells are not stored.
type cell struct {
	class, cluster int32
	count          int
}

// NewTable counts the items that each class shares with each cluster. Any int64
// is a label. It returns an error if the lengths differ or are zero.
func NewTable(classes, clusters []int64) (*Table, error) {
	if len(classes) != len(clusters) {
		return nil, fmt.Errorf("there are %d class labels, but %d cluster assignments", len(classes), len(clusters))
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("no labels to compare")
	}
	t := &Table{n: len(classes)}
	rowOf, colOf := make(map[int64]int32), make(map[int64]int32)
	at := make(map[[2]int32]int)
	for i := range classes {
		r, c := internLabel(rowOf, classes[i], &t.classes), internLabel(colOf, clusters[i], &t.clusters)
		at[[2]int32{r, c}]++
	}
	t.cells = make([]cell, 0, len(at))
	for k, n := range at {
		t.cells = append(t.cells, cell{k[0], k[1], n})
	}
	// The fixed order of the cells fixes the bits of sums over them.
	slices.SortFunc(t.cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.cluster, b.cluster))
	})
	return t, nil
}

// internLabel numbers label in the order of appearance and counts it.
func internLabel(ids map[int64]int32, label int64, counts *[]int) int32 {
	id, ok := ids[label]
	if !ok {
		id = int32(len(ids))
		ids[label] = id
		*counts = append(*counts, 0)
	}
	(*counts)[id]++
	return id
}
