package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/store"
)

// CompactOptions control Compact.
type CompactOptions struct {
	// NumLists is the number of lists of near items into which the index is cut, so that a
	// search need not read all items. The square root of the number of items is a good
	// choice; below some million items there is little to gain. 0 keeps the present lists
	// or lack of them; -1 removes lists, so that every search is exact.
	NumLists int
	// Recall is the share of the true 10 nearest that searches in lists should find;
	// default 0.95. It determines how many lists a search reads, measured with items of the
	// index as queries that are not used to make the lists. Queries unlike the items find
	// less: see Lists.RecallOutliers.
	Recall float64
	// Seed of the random choices: the initial lists, and the items used as queries.
	Seed uint64
	// Progress, if set, is called with each stage and the share of it that is done.
	Progress func(stage string, done float64)
}

// Compact rewrites the index as one segment, without removed items. Searches and changes go
// on meanwhile. Even without Compact, segments of similar size are merged from time to
// time, eight at once, so that there are never many.
func (x *Index) Compact(ctx context.Context, opt CompactOptions) error {
	w := x.w
	switch {
	case w == nil:
		return store.ErrReadOnly
	case opt.NumLists < -1:
		return inputf("%d lists: must be 1 or more, 0 to keep their number, or -1 for none", opt.NumLists)
	case opt.Recall < 0 || opt.Recall > 1 || opt.Recall != opt.Recall:
		return inputf("the recall is %g: must be from 0 to 1", opt.Recall)
	}
	opt.Recall = cmp.Or(opt.Recall, 0.95)
	if opt.Progress == nil {
		opt.Progress = func(string, float64) {}
	}
	w.merging.Lock()
	defer w.merging.Unlock()
	if _, err := w.submit(&request{ctx: ctx, seal: true}); err != nil {
		return err
	}
	v, err := x.acquire()
	if err != nil {
		return err
	}
	defer v.release()
	if len(v.parts) == 0 {
		return nil
	}
	if opt.NumLists == 0 && v.m.Lists != nil {
		opt.NumLists = v.m.Lists.NumLists
	}
	g := &mergedSegment{v: v, parts: v.parts, reset: true}
	var list *listLayout
	rows := g.rows()
	if err := g.checkVectors(); err != nil {
		return err
	}
	if opt.NumLists > 0 {
		if list, g.lists, err = buildLists(ctx, v, rows, opt); err != nil {
			return fmt.Errorf("cutting %d items into %d lists: %w", len(rows.list), opt.NumLists, err)
		}
	}
	progress := func(done float64) { opt.Progress("writing", done) }
	return w.merge(ctx, g, rows, list, progress)
}

// mergedSegment is a segment that replaces others.
type mergedSegment struct {
	v     *view
	parts []part // parts of v that it was made from
	seg   *segment
	// reset means that lists replaces the manifest's.
	reset bool
	lists *Lists
	list  []rowRef // former places of its rows
}

// rows returns the rows that were not removed.
func (g *mergedSegment) rows() *viewSource {
	out := &viewSource{v: g.v}
	for at, p := range g.v.parts {
		if slices.ContainsFunc(g.parts, func(q part) bool { return q.seg == p.seg }) {
			p.live.visitRows(func(r int) bool {
				out.list = append(out.list, rowRef{int32(at), int32(r)})
				return true
			})
		}
	}
	return out
}

// checkVectors compares the vectors with their checksums before they are rewritten. With new
// checksums, damaged vectors would look intact for ever.
func (g *mergedSegment) checkVectors() error {
	return recoverMapped(func() error {
		for _, p := range g.parts {
			if err := p.seg.guard.compareRows(p.live); err != nil {
				return err
			}
		}
		return nil
	})
}

// merge writes rows as a segment and makes the writer replace the parts by it.
func (w *writer) merge(ctx context.Context, g *mergedSegment, rows *viewSource, l *listLayout,
	progress func(float64)) error {
	if g.list = rows.list; len(rows.list) > 0 {
		path := filepath.Join(w.x.dir, w.newName("seg"))
		spec := &segmentSpec{dim: g.v.m.Dim, distance: g.v.m.Distance, columns: g.v.schema.columnList(), source: rows,
			lists: l, progress: progress}
		err := g.checkVectors()
		if err == nil {
			err = recoverMapped(func() error { return writeSegment(ctx, w.x.files, path, spec) })
		}
		if err == nil {
			g.seg, err = openSegment(path, g.v.m.Dim, g.v.m.Distance)
		}
		if err != nil {
			return errors.Join(err, w.x.files.Remove(path))
		}
	}
	_, err := w.submit(&request{ctx: ctx, install: g})
	if err != nil && g.seg != nil {
		if w.isUnnamed(g.seg) {
			err = errors.Join(err, w.x.files.Remove(g.seg.path))
		}
		g.seg.file.Close()
	}
	return err
}

// isUnnamed reports whether the manifest in the folder does not name a segment, or cannot be read.
func (w *writer) isUnnamed(s *segment) bool {
	m, err := readManifest(w.x.dir)
	return err == nil && !slices.ContainsFunc(m.Segments, func(r segmentRef) bool {
		return r.File == filepath.Base(s.path)
	})
}

// install replaces the parts by the merged segment, without the rows that were removed since the merge
// began.
func (w *writer) install(g *mergedSegment) error {
	c := w.change()
	var parts []part
	now := make(map[int32]part) // by index in g.v.parts
	for _, p := range w.state.parts {
		at := slices.IndexFunc(g.v.parts, func(q part) bool { return q.seg == p.seg })
		if at >= 0 && slices.ContainsFunc(g.parts, func(q part) bool { return q.seg == p.seg }) {
			now[int32(at)] = p
		} else {
			parts = append(parts, p)
		}
	}
	if g.seg != nil {
		p := part{seg: g.seg, live: slices.Clone(g.seg.allRows)}
		for i, ref := range g.list {
			if old, ok := now[ref.part]; !ok || !old.live.has(int(ref.row)) {
				p.live.clear(i)
				p.numRemoved++
			}
		}
		parts = append([]part{p}, parts...)
	}
	if g.reset {
		c.m.Lists = g.lists
	}
	parts = c.writeRemovals(parts)
	if err := c.commit(parts); err != nil {
		return err
	}
	if !slices.ContainsFunc(parts, func(p part) bool { return p.seg == g.seg }) && g.seg != nil { // no rows left
		g.seg.retire(w.x.files)
		g.seg.refs.Add(1)
		defer g.seg.release()
	}
	w.state.parts = parts
	w.publish()
	c.removeUnused()
	return nil
}

// tier returns the size class of a segment.
func (z *limits) tier(rows int) int {
	t := 0
	for ; rows > 2*z.sealRows; rows /= z.mergeCount {
		t++
	}
	return t
}

// beginMerge counts one more merge, unless the writer is being stopped. Stopping waits for the merges that were
// counted.
func (w *writer) beginMerge() bool {
	w.halting.Lock()
	defer w.halting.Unlock()
	select {
	case <-w.halted:
		return false
	default:
		w.merges.Add(1)
		return true
	}
}

// startMerge starts to merge segments of similar size if there are enough of them, or to
// rewrite one that has lost more than half of its rows. After an error nothing has changed,
// so errors are ignored.
func (w *writer) startMerge() {
	tiers := make(map[int][]part)
	var chosen []part
	for _, p := range w.state.parts {
		if 2*p.numRemoved > p.seg.n && p.seg.lists == nil {
			chosen = []part{p}
			break
		}
		if p.seg.lists != nil { // lists were requested, and stay
			continue
		}
		t := w.x.sizes.tier(p.seg.n - p.numRemoved)
		if tiers[t] = append(tiers[t], p); len(tiers[t]) == w.x.sizes.mergeCount {
			chosen = tiers[t]
			break
		}
	}
	if chosen == nil || !w.merging.TryLock() {
		return
	}
	v, err := w.x.acquire()
	if err != nil {
		w.merging.Unlock()
		return
	}
	if !w.beginMerge() {
		v.release()
		w.merging.Unlock()
		return
	}
	go func() {
		defer w.merges.Done()
		defer w.merging.Unlock()
		defer v.release()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-w.halted:
				cancel()
			case <-ctx.Done():
			}
		}()
		g := &mergedSegment{v: v, parts: chosen}
		_ = w.merge(ctx, g, g.rows(), nil, nil) // after an error nothing has changed
	}()
}
