package index

import (
	"slices"

	"github.com/kindred-ml/kindred/store"
)

// state is the index as its writer knows it. Changes are made here first and then written;
// if writing fails, rollback undoes them.
type state struct {
	schema *schema
	parts  []part
	tail   *tail
	ids    map[string]int // the rows of the tail that are there

	saved      *state // as it was before the changes under way
	changed    []savedID
	ownsBitmap []bool // parts, and the tail behind them, whose bitmap no view has
}

// savedID is the earlier entry of an id in ids.
type savedID struct {
	id  string
	row int // -1: nothing
}

func newState(m *manifest, parts []part) *state {
	return &state{schema: newSchema(m.Columns), parts: parts, tail: &tail{dim: m.Dim}, ids: make(map[string]int)}
}

// begin starts changes that commit or rollback ends.
func (s *state) begin() {
	s.saved = &state{schema: s.schema, parts: s.parts, tail: s.tail}
	s.parts, s.tail = slices.Clone(s.parts), s.tail.clone()
	s.ownsBitmap, s.changed = make([]bool, len(s.parts)+1), s.changed[:0]
}

func (s *state) commit() { s.saved = nil }

func (s *state) rollback() {
	s.schema, s.parts, s.tail = s.saved.schema, s.saved.parts, s.saved.tail
	for _, c := range slices.Backward(s.changed) {
		if c.row < 0 {
			delete(s.ids, c.id)
		} else {
			s.ids[c.id] = c.row
		}
	}
	s.saved = nil
}

// find returns the part and the row of an id, as view.find does.
func (s *state) find(id string) (at, row int, ok bool) {
	if row, ok := s.ids[id]; ok {
		return len(s.parts), row, true
	}
	return findIn(s.parts, id)
}

// copyBitmap gives the part, or the tail, a bitmap that no view shares.
func (s *state) copyBitmap(at int) {
	if s.ownsBitmap[at] {
		return
	}
	s.ownsBitmap[at] = true
	if at == len(s.parts) {
		s.tail.live = slices.Clone(s.tail.live)
	} else {
		s.parts[at].live = slices.Clone(s.parts[at].live)
	}
}

// removeRow removes a row.
func (s *state) removeRow(at, row int) {
	s.copyBitmap(at)
	if at == len(s.parts) {
		s.tail.live.clear(row)
		s.tail.numRemoved++
		s.setRow(s.tail.items[row].ID, -1)
		return
	}
	s.parts[at].live.clear(row)
	s.parts[at].numRemoved++
}

// setRow sets the row of an id in the tail; -1 removes it.
func (s *state) setRow(id string, row int) {
	old, ok := s.ids[id]
	if !ok {
		old = -1
	}
	s.changed = append(s.changed, savedID{id, old})
	if row < 0 {
		delete(s.ids, id)
	} else {
		s.ids[id] = row
	}
}

// put adds an entry to the tail, in place of the one with its id.
func (s *state) put(e *store.Item) error {
	more, err := s.schema.newColumns(e)
	if err != nil {
		return err
	}
	s.schema = s.schema.extended(more)
	if at, row, ok := s.find(e.ID); ok {
		s.removeRow(at, row)
	}
	s.copyBitmap(len(s.parts))
	s.setRow(e.ID, s.tail.rows())
	s.tail.put(e)
	return nil
}

// remove removes an id, and reports whether it existed.
func (s *state) remove(id string) bool {
	at, row, ok := s.find(id)
	if ok {
		s.removeRow(at, row)
	}
	return ok
}

// replay applies the operations of a log.
func (s *state) replay(ops []operation) error {
	for _, op := range ops {
		if op.entry == nil {
			s.remove(op.remove)
		} else if err := s.put(op.entry); err != nil {
			return err
		}
	}
	return nil
}
