package exact

import "slices"

// Self says which item of the gallery each query is: it is left out of the query's ranking. The zero value leaves out
// nothing.
type Self struct {
	// Same means that the queries are the gallery, and query i is item i.
	Same bool
	// Item has the item of each query, or -1 if the gallery does not have it. nil means that it has none.
	Item []int32
}

// ItemOf returns the item that query i is, or -1.
func (s Self) ItemOf(i int) int {
	switch {
	case s.Same:
		return i
	case s.Item == nil:
		return -1
	}
	return int(s.Item[i])
}

// MaxOthers returns the largest number of items in the ranking of a query, for a gallery of n items.
func (s Self) MaxOthers(n int) int {
	if s.Same || len(s.Item) > 0 && !slices.Contains(s.Item, -1) {
		return n - 1
	}
	return n
}

// MinOthers returns the least number of items in the ranking of a query, for a gallery of n items.
func (s Self) MinOthers(n int) int {
	if s.Same || slices.ContainsFunc(s.Item, func(j int32) bool { return j >= 0 }) {
		return n - 1
	}
	return n
}

// overlaps reports whether one of the queries lo..hi-1 is one of the items from..to-1.
func (s Self) overlaps(lo, hi, from, to int) bool {
	if s.Same {
		return lo < to && from < hi
	}
	if s.Item == nil {
		return false
	}
	for _, j := range s.Item[lo:hi] {
		if from <= int(j) && int(j) < to {
			return true
		}
	}
	return false
}
