package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// writer makes the changes of an index, one batch after another, in one goroutine:
// requests that arrive while a batch is written form the next one.
type writer struct {
	x     *Index
	m     *manifest // as in the folder
	state *state
	log   *logFile

	requests chan *request
	done     chan struct{}
	mu       sync.RWMutex // guards stopped
	stopped  bool
}

// request is a change that somebody waits for.
type request struct {
	ctx      context.Context
	entries  []Entry
	existing Existing
	remove   []string
	reply    chan reply
}

type reply struct {
	added   Added
	removed int
	err     error
}

// Bounds of what one write to the log takes together.
const (
	maxTogether      = 512
	maxTogetherBytes = 64 << 20
)

// load reads the folder into the index.
func (x *Index) load() error {
	m, err := readManifest(x.dir)
	if err != nil {
		return err
	}
	x.dim = m.Dim
	s := newState(m, nil)
	path := filepath.Join(x.dir, m.Log)
	s.begin()
	end, frames, err := readLog(path, m.Index, m.Dim, s.replay)
	if err != nil {
		return err
	}
	s.commit()
	x.view = newView(m, s.schema, s.parts, s.tail.clone())
	if x.readOnly {
		return nil
	}
	if err := x.removeOrphans(m); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	l := &logFile{f: f, end: end, frames: frames, fault: x.files.Fault}
	if err := f.Truncate(end); err != nil { // what was never acknowledged
		f.Close()
		return err
	}
	x.w = &writer{x: x, m: m, state: s, log: l, requests: make(chan *request), done: make(chan struct{})}
	go x.w.run()
	return nil
}

func (w *writer) add(ctx context.Context, entries []Entry, opt AddOptions) (Added, error) {
	r, err := w.ask(&request{ctx: ctx, entries: entries, existing: opt.Existing})
	if err == nil && opt.Progress != nil {
		opt.Progress(len(entries))
	}
	return r.added, err
}

func (w *writer) remove(ctx context.Context, ids []string) (int, error) {
	r, err := w.ask(&request{ctx: ctx, remove: ids})
	return r.removed, err
}

// ask hands a request to the writer and waits until it is done.
func (w *writer) ask(r *request) (reply, error) {
	r.reply = make(chan reply, 1)
	w.mu.RLock()
	if w.stopped {
		w.mu.RUnlock()
		return reply{}, ErrClosed
	}
	select {
	case w.requests <- r:
	case <-r.ctx.Done():
		w.mu.RUnlock()
		return reply{}, r.ctx.Err()
	}
	w.mu.RUnlock()
	out := <-r.reply
	return out, out.err
}

// stop waits for the requests that were accepted.
func (w *writer) stop() error {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	close(w.requests)
	<-w.done
	return w.log.close()
}

func (w *writer) run() {
	defer close(w.done)
	for r := range w.requests {
		batch := []*request{r}
		size := r.size()
	more:
		for len(batch) < maxTogether && size < maxTogetherBytes {
			select {
			case r, ok := <-w.requests:
				if !ok {
					break more
				}
				batch = append(batch, r)
				size += r.size()
			default:
				break more
			}
		}
		w.write(batch)
	}
}

// size is about what a request takes in the log.
func (r *request) size() int {
	n := 0
	for i := range r.entries {
		n += 4*len(r.entries[i].Vector) + 64
	}
	return n
}

// write does a batch: one frame of the log, one view.
func (w *writer) write(batch []*request) {
	w.state.begin()
	var content []byte
	replies := make([]reply, len(batch))
	for i, r := range batch {
		ops, out := w.plan(r)
		replies[i] = out
		for _, op := range ops {
			content = appendOperation(content, op)
		}
	}
	var err error
	if len(content) > 0 {
		if err = w.log.append(content); err != nil {
			err = fmt.Errorf("nothing was changed: %w", err)
		}
	}
	if err != nil {
		w.state.rollback()
	} else {
		w.state.commit()
		w.x.publish(newView(w.m, w.state.schema, w.state.parts, w.state.tail.clone()))
	}
	for i, r := range batch {
		if err != nil && replies[i].err == nil {
			replies[i] = reply{err: err}
		}
		r.reply <- replies[i]
	}
}

// plan changes the state as a request asks, and returns the operations that say so.
// A request that cannot be met changes nothing.
func (w *writer) plan(r *request) (ops []operation, out reply) {
	if err := r.ctx.Err(); err != nil {
		return nil, reply{err: err}
	}
	if err := w.refused(r); err != nil {
		return nil, reply{err: err}
	}
	for _, id := range r.remove {
		if w.state.remove(id) {
			ops = append(ops, operation{remove: id})
			out.removed++
		}
	}
	for i := range r.entries {
		e := &r.entries[i]
		_, _, there := w.state.find(e.ID)
		if there && r.existing == Skip {
			out.added.Skipped++
			continue
		}
		if err := w.state.put(e); err != nil {
			panic("index: " + err.Error()) // refused has looked
		}
		ops = append(ops, operation{entry: e})
		if there {
			out.added.Replaced++
		} else {
			out.added.Added++
		}
	}
	return ops, out
}

// refused is the error of a request that cannot be met as a whole.
func (w *writer) refused(r *request) error {
	s := w.state.schema
	for i := range r.entries {
		more, err := s.fits(&r.entries[i].Item)
		if err != nil {
			return err
		}
		s = s.grown(more)
		if r.existing == Refuse {
			if _, _, there := w.state.find(r.entries[i].ID); there {
				return &ExistsError{r.entries[i].ID}
			}
		}
	}
	return nil
}
