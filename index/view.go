package index

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/mappedfile"
	"github.com/kindred-ml/kindred/store"
)

// part is a segment as one view sees it.
type part struct {
	seg        *segment
	live       bitmap // the rows that are there
	numRemoved int    // how many are not
	// removedFile is the file of the removed rows, "" without one. It has noted rows.
	removedFile string
	numRecorded int
}

// findIn returns the part and row that hold an id.
func findIn(parts []part, id string) (at, row int, ok bool) {
	for i := len(parts) - 1; i >= 0; i-- {
		if r := parts[i].seg.find(id); r >= 0 && parts[i].live.has(r) {
			return i, r, true
		}
	}
	return 0, 0, false
}

// view is the index at one moment. It does not change. Its users hold a reference: without
// one, the files of its segments may be removed.
type view struct {
	refs   atomic.Int64
	m      *manifest
	schema *schema
	parts  []part
	tail   *tail
}

// newView returns a view with one reference.
func newView(m *manifest, s *schema, parts []part, t *tail) *view {
	v := &view{m: m, schema: s, parts: slices.Clone(parts), tail: t.clone()}
	v.refs.Store(1)
	for _, p := range parts {
		p.seg.refs.Add(1)
	}
	return v
}

func (v *view) release() {
	if v.refs.Add(-1) > 0 {
		return
	}
	for _, p := range v.parts {
		p.seg.release()
	}
}

// numItems returns the number of items.
func (v *view) numItems() int {
	n := v.tail.rows() - v.tail.numRemoved
	for _, p := range v.parts {
		n += p.seg.n - p.numRemoved
	}
	return n
}

func (v *view) info() Info {
	out := Info{Version: v.m.Version, Items: v.numItems(), Dim: v.m.Dim, Distance: v.m.Distance, Network: v.m.Network,
		Columns: append([]store.Column{}, v.schema.columns...), Generation: v.m.Generation, Segments: len(v.parts),
		Logged: v.tail.rows() - v.tail.numRemoved, Lists: v.m.Lists, Removed: v.tail.numRemoved}
	for _, p := range v.parts {
		out.Removed += p.numRemoved
	}
	return out
}

// find returns the part of an id, or len(parts) for the tail, and its row there.
func (v *view) find(id string) (at, row int, ok bool, err error) {
	if r := v.tail.find(id); r >= 0 {
		return len(v.parts), r, true, nil
	}
	err = mappedfile.Access(func() { at, row, ok = findIn(v.parts, id) })
	return at, row, ok, err
}

// row and id share memory with a part.
func (v *view) row(at, row int) []float32 {
	if at == len(v.parts) {
		return v.tail.row(row)
	}
	return v.parts[at].seg.row(row)
}

func (v *view) id(at, row int) string {
	if at == len(v.parts) {
		return v.tail.items[row].ID
	}
	return v.parts[at].seg.ids.at(row)
}

// itemAt returns a copy of a row, after it compared the checksum.
func (v *view) itemAt(at, row int) (it store.Item, err error) {
	if at == len(v.parts) {
		return v.tail.item(row), nil
	}
	s := v.parts[at].seg
	var damage error
	err = readMapped(s.path, func() {
		if damage = s.guard.Rows(row, row+1); damage == nil {
			it = s.item(row)
		}
	})
	return it, cmp.Or(err, damage)
}

func (v *view) get(id string) (store.Item, bool, error) {
	at, row, ok, err := v.find(id)
	if !ok {
		return store.Item{}, false, err
	}
	e, err := v.itemAt(at, row)
	return e, err == nil, err
}

// visitItems yields the items that pass a filter, in the order of their rows.
func (v *view) visitItems(f *store.Filter, yield func(store.Item, error) bool) {
	sets, err := v.matchingRows(f)
	if err != nil {
		yield(store.Item{}, err)
		return
	}
	more := true
	for at, set := range sets {
		set.visitRows(func(row int) bool {
			e, err := v.itemAt(at, row)
			more = yield(e, err) && err == nil
			return more
		})
		if !more {
			return
		}
	}
}

// allWithoutVectors yields all items without their vectors, in the order of their rows.
func (v *view) allWithoutVectors(yield func(store.Item, error) bool) {
	more := true
	each := func(of bitmap, item func(row int) (store.Item, error)) {
		of.visitRows(func(row int) bool {
			it, err := item(row)
			more = yield(it, err) && err == nil
			return more
		})
	}
	for _, p := range v.parts {
		if more {
			each(p.live, func(row int) (it store.Item, err error) {
				err = readMapped(p.seg.path, func() { it = p.seg.itemWithoutVector(row) })
				return it, err
			})
		}
	}
	if more {
		each(v.tail.matchingRows(nil), func(row int) (store.Item, error) { return v.tail.itemWithoutVector(row), nil })
	}
}

// ids lists the ids of the items that pass a filter.
func (v *view) ids(f *store.Filter) ([]string, error) {
	sets, err := v.matchingRows(f)
	if err != nil {
		return nil, err
	}
	var out []string
	err = mappedfile.Access(func() {
		for at, set := range sets {
			set.visitRows(func(row int) bool {
				out = append(out, strings.Clone(v.id(at, row)))
				return true
			})
		}
	})
	return out, err
}

// matchingRows returns for each part, and last for the tail, the rows that were not removed
// and pass the filter. The sets may be shared and must not be changed.
func (v *view) matchingRows(f *store.Filter) ([]bitmap, error) {
	if err := f.Check(v.schema.columns); err != nil {
		return nil, v.explainFilterError(err)
	}
	var out []bitmap
	for _, p := range v.parts {
		set := p.live
		if f != nil {
			if err := readMapped(p.seg.path, func() { set = p.seg.matchingRows(f.Expr()) }); err != nil {
				return nil, err
			}
			set.and(p.live)
		}
		out = append(out, set)
	}
	return append(out, v.tail.matchingRows(f)), nil
}
