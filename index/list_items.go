package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/mappedfile"
	"github.com/kindred-ml/kindred/store"
)

// List returns up to limit items that pass a filter, in the order of their ids. It starts
// after the id after; "" starts at the first. It reads the ids of all items: to read a
// whole index, use All.
func (x *Index) List(f *store.Filter, after string, limit int) ([]store.Item, error) {
	out, _, err := x.listByKey(f, after, limit, func(string) uint64 { return 0 })
	return out, err
}

// Sample is List in a random order by a seed: the first items are a random sample of those that
// pass the filter, and a call with the last id as after continues the sample. It also returns the number of
// items that pass.
func (x *Index) Sample(f *store.Filter, after string, limit int, seed uint64) (out []store.Item, passed int,
	err error) {
	return x.listByKey(f, after, limit, func(id string) uint64 { return randomKey(id, seed) })
}

// randomKey returns a random number that depends on an id and a seed: FNV-1a, mixed by the finalizer of
// MurmurHash3.
func randomKey(id string, seed uint64) uint64 {
	h := uint64(14695981039346656037) ^ seed
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// listByKey returns up to limit items that pass a filter, ordered by a number computed from their ids, then by the ids.
// It
// also returns the number of items that pass.
func (x *Index) listByKey(f *store.Filter, after string, limit int, number func(id string) uint64) ([]store.Item, int,
	error) {
	if limit < 1 {
		return nil, 0, inputf("a list of %d items: must be at least 1", limit)
	}
	v, err := x.acquire()
	if err != nil {
		return nil, 0, err
	}
	defer v.release()
	sets, err := v.matchingRows(f)
	if err != nil {
		return nil, 0, err
	}
	type place struct {
		number  uint64
		id      string
		at, row int
	}
	before := func(a, b place) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id)) }
	last := place{number: number(after), id: after}
	var first []place
	cut := func() {
		slices.SortFunc(first, before)
		first = first[:min(limit, len(first))]
	}
	passed := 0
	err = mappedfile.Access(func() {
		for at, set := range sets {
			passed += set.count()
			set.visitRows(func(row int) bool {
				id := v.id(at, row)
				p := place{number: number(id), id: id, at: at, row: row}
				if after == "" || before(last, p) < 0 {
					p.id = strings.Clone(id)
					first = append(first, p)
				}
				if len(first) >= 2*limit+1000 {
					cut()
				}
				return true
			})
		}
	})
	if err != nil {
		return nil, 0, err
	}
	cut()
	out := make([]store.Item, len(first))
	for i, p := range first {
		if out[i], err = v.itemAt(p.at, p.row); err != nil {
			return nil, 0, err
		}
	}
	return out, passed, nil
}
