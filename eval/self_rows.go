package eval

import (
	"errors"
	"fmt"
)

// checkSelf checks Config.SelfRows against the sets.
func (c *Config) checkSelf(queries int, gallery *Set) error {
	switch {
	case c.SelfRows == nil:
		return nil
	case gallery == nil:
		return errors.New("without a separate gallery each query is left out by its index: leave out Self")
	}
	return CheckSelf(c.SelfRows, queries, gallery.X.Rows)
}

// noteSelfQueries says how many queries are items of the gallery.
func (rep *Report) noteSelfQueries(self []int32) {
	for _, j := range self {
		if j >= 0 {
			rep.SelfQueries++
		}
	}
	if rep.SelfQueries > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("%d of %d queries are also items of the gallery: each is left "+
			"out of its own results", rep.SelfQueries, len(self)))
	}
}

// noteOnlySelfPositives warns of queries that have no positive but themselves.
func (rep *Report) noteOnlySelfPositives(queries Set, gallery *Set, self []int32) {
	for c, labels := range queries.Labels {
		if self == nil || gallery == nil {
			return
		}
		in := make(map[int64]int)
		for _, y := range gallery.Labels[c] {
			in[y]++
		}
		alone := 0
		for i, j := range self {
			if j >= 0 && in[labels[i]] == 1 && gallery.Labels[c][j] == labels[i] {
				alone++
			}
		}
		if alone > 0 {
			rep.Notes = append(rep.Notes, fmt.Sprintf("%s: %d queries are the only items of their class in the "+
				"gallery: nothing is left for them to find, so retrieval does not count them", rep.Columns[c].Name,
				alone))
		}
	}
}

// restrictSelfRows returns the rows of a part of the gallery that a part of the queries are. The lists have
// the rows that the parts keep.
func restrictSelfRows(self []int32, queries, gallery []int) []int32 {
	if self == nil {
		return nil
	}
	at := make(map[int32]int32, len(gallery))
	for k, j := range gallery {
		at[int32(j)] = int32(k)
	}
	out := make([]int32, len(queries))
	for k, i := range queries {
		j, ok := at[self[i]]
		if !ok {
			j = -1
		}
		out[k] = j
	}
	return out
}
