package index

import "fmt"

// addBulk adds many entries as a segment, after the removals of the same request.
func (w *writer) addBulk(r *request) (out reply) {
	w.state.begin()
	var source entrySource
	err := recoverMapped(func() (err error) {
		s, err := w.checkRequest(r)
		if err != nil {
			return err
		}
		w.state.schema = s
		for _, id := range r.remove {
			if w.state.remove(id) {
				out.removed++
			}
		}
		source, out.added = w.selectEntries(r)
		return nil
	})
	if err == nil && len(source) > 0 {
		err = w.rotate(r.ctx, source, func(done float64) {
			if r.progress != nil {
				r.progress(int(done * float64(len(r.entries))))
			}
		})
		if err != nil {
			err = fmt.Errorf("nothing was changed: %w", err)
		}
	}
	if err != nil {
		w.state.rollback()
		return reply{err: err}
	}
	w.state.commit()
	w.startMerge()
	return out
}

// selectEntries returns the entries of a request that become rows, and removes the rows that they
// replace.
func (w *writer) selectEntries(r *request) (entrySource, Added) {
	at := make(map[string]int, len(r.entries)) // places in source
	var source entrySource
	var n Added
	for i := range r.entries {
		e := &r.entries[i]
		k, again := at[e.ID]
		part, row, there := w.state.find(e.ID)
		switch {
		case r.existing == Skip && (again || there):
			n.Skipped++
			continue
		case again:
			n.Replaced++
			source[k] = e
			continue
		case there:
			n.Replaced++
			w.state.removeRow(part, row)
		default:
			n.Added++
		}
		at[e.ID] = len(source)
		source = append(source, e)
	}
	return source, n
}
