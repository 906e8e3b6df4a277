package index

import (
	"context"
	"errors"
)

// CompactOptions say how to compact.
type CompactOptions struct {
	// Lists cuts the index into that many lists of near items, so that a search
	// need not look at all; about the square root of the number of items is a good
	// number, and below some million items there is little to gain. 0 keeps the
	// index as it is in this respect, -1 makes it one that is searched exactly.
	Lists int
	// Recall is the share of the true 10 nearest that searches in lists are to find;
	// default 0.95. How many lists they read is chosen by it, with items of the
	// index as queries.
	Recall float64
	// Seed of what is random: where the lists begin, and which items are queries.
	Seed uint64
	// Progress, if set, is told of each stage what share of it is done.
	Progress func(stage string, done float64)
}

// Compact writes the index anew without what was removed. Searches and changes go
// on meanwhile.
func (x *Index) Compact(ctx context.Context, opt CompactOptions) error {
	if x.w == nil {
		return ErrReadOnly
	}
	return errors.New("compaction is not there yet")
}
