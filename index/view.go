package index

import (
	"sync/atomic"
)

// part is a segment as one view sees it.
type part struct {
	seg  *segment
	dead bitmap
	gone int // rows in dead
}

// view is the index at one moment. It does not change; whoever uses it holds a
// reference, without which the files of its segments may be gone.
type view struct {
	refs   atomic.Int64
	m      *manifest
	schema *schema
	parts  []part
	tail   *tail
}

// newView returns a view with one reference.
func newView(m *manifest, s *schema, parts []part, t *tail) *view {
	v := &view{m: m, schema: s, parts: parts, tail: t}
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

// live is the number of items.
func (v *view) live() int {
	n := v.tail.rows() - v.tail.gone
	for _, p := range v.parts {
		n += p.seg.n - p.gone
	}
	return n
}

func (v *view) info() Info {
	out := Info{Version: v.m.Version, Items: v.live(), Dim: v.m.Dim, Distance: v.m.Distance, Network: v.m.Network,
		Columns: append([]Column{}, v.schema.columns...), Generation: v.m.Generation, Segments: len(v.parts),
		Logged: v.tail.rows() - v.tail.gone, Lists: v.m.Lists, Removed: v.tail.gone}
	for _, p := range v.parts {
		out.Removed += p.gone
	}
	return out
}

// find returns where an id is: a part, len(parts) for the tail, and a row of it.
func (v *view) find(id string) (at, row int, ok bool) {
	if r := v.tail.find(id); r >= 0 {
		return len(v.parts), r, true
	}
	for i := len(v.parts) - 1; i >= 0; i-- {
		if r := v.parts[i].seg.find(id); r >= 0 && !v.parts[i].dead.has(r) {
			return i, r, true
		}
	}
	return 0, 0, false
}

// entry returns a copy of a row.
func (v *view) entry(at, row int) (e Entry, err error) {
	if at == len(v.parts) {
		return Entry{v.tail.item(row), v.tail.vector(row)}, nil
	}
	err = touch(v.parts[at].seg.path, func() {
		e = Entry{v.parts[at].seg.item(row, v.schema), v.parts[at].seg.vector(row)}
	})
	return e, err
}

func (v *view) get(id string) (Entry, bool, error) {
	at, row, ok := v.find(id)
	if !ok {
		return Entry{}, false, nil
	}
	e, err := v.entry(at, row)
	return e, err == nil, err
}

// each yields the items that pass a filter, in the order of their rows.
func (v *view) each(f *Filter, yield func(Entry, error) bool) {
	sets, err := v.passing(f)
	if err != nil {
		yield(Entry{}, err)
		return
	}
	for at, set := range sets {
		for row := range v.rows(at) {
			if !set.has(row) {
				continue
			}
			e, err := v.entry(at, row)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// rows is the number of rows of a part.
func (v *view) rows(at int) int {
	if at == len(v.parts) {
		return v.tail.rows()
	}
	return v.parts[at].seg.n
}

// ids lists the ids of the items that pass a filter.
func (v *view) ids(f *Filter) ([]string, error) {
	var out []string
	var failed error
	v.each(f, func(e Entry, err error) bool {
		failed = err
		out = append(out, e.ID)
		return true
	})
	return out, failed
}

// passing returns for each part, and the tail behind them, the rows that are there
// and pass the filter.
func (v *view) passing(f *Filter) ([]bitmap, error) {
	if err := f.check(v.schema); err != nil {
		return nil, err
	}
	var out []bitmap
	for _, p := range v.parts {
		set, err := p.passing(f)
		if err != nil {
			return nil, err
		}
		out = append(out, set)
	}
	set := newBitmap(v.tail.rows())
	for i := range v.tail.rows() {
		if !v.tail.dead.has(i) && (f == nil || passes(f.root, func(c string) Value { return v.tail.value(i, c) })) {
			set.set(i)
		}
	}
	return append(out, set), nil
}
