package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// rotate writes the state to the folder, with an empty log. It writes the rows of the log as a segment, and
// the rows of more, if any, as another one, and the removed rows of the other
// segments. After an error the folder is unchanged.
func (w *writer) rotate(ctx context.Context, more rowSource, progress func(float64)) error {
	c := w.change()
	parts := slices.Clone(w.state.parts)
	if more != nil {
		parts = append(parts, c.writeSegment(ctx, more, nil, progress))
	}
	old := w.log
	if err := w.sealLog(ctx, c, parts); err != nil {
		return err
	}
	old.close() // its error does not matter: the old log is not needed any more
	w.publish()
	c.removeUnused()
	w.ensureSpare()
	return nil
}

// sealLog writes the rows of the log as a segment, the last of the parts, and empties the
// log.
func (w *writer) sealLog(ctx context.Context, c *change, parts []part) error {
	t := w.state.tail
	if t.rows() > t.numRemoved {
		rows := &tailSource{t: t}
		t.live.visitRows(func(r int) bool {
			rows.list = append(rows.list, r)
			return true
		})
		parts = append(parts, c.writeSegment(ctx, rows, nil, nil))
	}
	parts = c.writeRemovals(parts)
	c.m.Log = c.newName("log")
	var l *logFile
	if c.err == nil {
		l, c.err = createLog(w.x.files, filepath.Join(w.x.dir, c.m.Log), c.m.Index)
	}
	if err := c.commit(parts); err != nil {
		if l != nil {
			l.close()
		}
		return err
	}
	w.log = l
	w.state.emptyLog(parts)
	return nil
}

// tailSource is rows of the log.
type tailSource struct {
	t    *tail
	list []int
}

func (s *tailSource) rows() int                 { return len(s.list) }
func (s *tailSource) row(i int) []float32       { return s.t.row(s.list[i]) }
func (s *tailSource) id(i int) string           { return s.t.items[s.list[i]].ID }
func (s *tailSource) path(i int) string         { return s.t.items[s.list[i]].Path }
func (s *tailSource) value(i int, c string) any { return s.t.items[s.list[i]].Columns[c] }

// change is a new manifest being made, with the files that it will name. It keeps the first
// error, and does nothing after it.
type change struct {
	w     *writer
	m     manifest
	files []string // files written for it
	segs  []*segment
	err   error
}

// change starts a change.
func (w *writer) change() *change {
	c := &change{w: w, m: *w.m}
	c.m.Generation++
	c.m.Columns = w.state.schema.columnList()
	return c
}

// newName returns a name that no file has had.
func (w *writer) newName(extension string) string {
	return fmt.Sprintf("%06d.%s", w.next.Add(1)-1, extension)
}

// newName returns the name of a new file of the change.
func (c *change) newName(extension string) string {
	name := c.w.newName(extension)
	c.files = append(c.files, name)
	return name
}

// writeSegment writes rows as a segment.
func (c *change) writeSegment(ctx context.Context, rows rowSource, l *listLayout, progress func(float64)) part {
	if c.err != nil {
		return part{}
	}
	path := filepath.Join(c.w.x.dir, c.newName("seg"))
	spec := &segmentSpec{dim: c.m.Dim, distance: c.m.Distance, columns: c.m.Columns, source: rows, lists: l,
		progress: progress}
	var s *segment
	if c.err = writeSegment(ctx, c.w.x.files, path, spec); c.err == nil {
		s, c.err = openSegment(path, c.m.Dim, c.m.Distance)
	}
	if c.err != nil {
		return part{}
	}
	c.segs = append(c.segs, s)
	return part{seg: s, live: s.allRows}
}

// writeRemovals writes the removed rows of parts, unless a file has them already. It leaves out parts without
// rows.
func (c *change) writeRemovals(parts []part) []part {
	if c.err != nil {
		return nil
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.numRemoved == p.seg.n })
	for i := range parts {
		p := &parts[i]
		if p.numRemoved == p.numRecorded || c.err != nil {
			continue
		}
		p.removedFile, p.numRecorded = c.newName("dead"), p.numRemoved
		c.err = writeRemoved(c.w.x.files, filepath.Join(c.w.x.dir, p.removedFile), p.seg.n, p.live)
	}
	return parts
}

// commit replaces the manifest by one that names the parts.
func (c *change) commit(parts []part) error {
	c.m.Segments, c.m.Next = []segmentRef{}, c.w.next.Load()
	for _, p := range parts {
		if c.err == nil {
			c.m.Segments = append(c.m.Segments, segmentRef{filepath.Base(p.seg.path), p.seg.n, p.removedFile})
		}
	}
	if c.err == nil {
		if c.err = c.m.write(c.w.x.files, c.w.x.dir); c.err != nil {
			// The folder shows whether the write succeeded; the error does not.
			now, err := readManifest(c.w.x.dir)
			if err != nil || now.Generation >= c.m.Generation {
				c.w.broken = c.err
				return c.err // all files stay, as either manifest may be in the folder
			}
		}
	}
	if c.err == nil {
		m := c.m
		c.w.m = &m
		for _, p := range c.w.state.parts {
			if !slices.ContainsFunc(parts, func(q part) bool { return q.seg == p.seg }) {
				p.seg.retire(c.w.x.files)
			}
		}
		return nil
	}
	for _, s := range c.segs {
		s.file.Close()
	}
	for _, name := range c.files {
		_ = c.w.x.files.Remove(filepath.Join(c.w.x.dir, name))
	}
	return c.err
}

// removeUnused removes the files that the manifest no longer names. Segments are removed by the
// last view that uses them. A file that cannot be removed does no harm: the next opening
// tries again.
func (c *change) removeUnused() {
	keep := map[string]bool{c.m.Log: true}
	for _, s := range c.m.Segments {
		keep[s.File], keep[s.RemovedFile] = true, true
	}
	entries, _ := os.ReadDir(c.w.x.dir)
	for _, e := range entries {
		name := e.Name()
		if fileName.MatchString(name) && !keep[name] && filepath.Ext(name) != ".seg" {
			_ = c.w.x.files.Remove(filepath.Join(c.w.x.dir, name))
		}
	}
}
