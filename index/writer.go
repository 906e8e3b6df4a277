package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/mappedfile"
	"github.com/kindred-ml/kindred/store"
)

// writer makes the changes of an index, one batch after another, in one goroutine:
// requests that arrive while a batch is written form the next one.
type writer struct {
	x     *Index
	m     *manifest // as in the folder
	state *state
	log   *logFile
	// broken is the reason why nothing can be written any more; nil if it can.
	broken error
	// retryRows is the number of rows that the log may hold before the next try to write
	// them as a segment.
	retryRows int
	next      atomic.Uint64 // number of the next file

	requests chan *request
	done     chan struct{}
	mu       sync.RWMutex // guards stopped
	stopped  bool

	// Merges run beside the writer, one at a time, until halt.
	merging sync.Mutex
	merges  sync.WaitGroup
	halting sync.Mutex // taken to begin a merge, and to close halted
	halted  chan struct{}
}

// request is a change whose caller waits for it: entries and ids, or one of the other
// fields.
type request struct {
	ctx      context.Context
	entries  []store.Item
	existing Existing
	progress func(done int)
	remove   []string
	compute  func() (Change, error) // sets entries and remove when the writer comes to the request

	seal    bool           // write the log's rows as a segment
	install *mergedSegment // put a segment in the place of others
	replace *Index         // put its contents, of a network, in the place of all
	network Network

	reply chan reply
}

type reply struct {
	added   Added
	removed int
	err     error
}

// Limits of one write to the log.
const (
	maxBatchRequests = 512
	maxBatchBytes    = 64 << 20
)

// limits determine when rows become a segment. Tests make them small.
type limits struct {
	bulkRows   int // entries that are written as a segment at once, without the log
	sealRows   int // rows of the log
	mergeCount int // segments of like size that are merged
	// spareBytes is the number of bytes that are reserved for removals when the disk is full.
	spareBytes int
}

func defaultLimits() limits {
	return limits{bulkRows: 4096, sealRows: 8192, mergeCount: 8, spareBytes: 256 << 10}
}

// sealBytes is the approximate largest size of the vectors in the log.
const sealBytes = 64 << 20

// sealThreshold returns the number of rows of the log that become a segment.
func (w *writer) sealThreshold() int { return min(w.x.sizes.sealRows, sealBytes/(4*w.m.Dim)) }

func newWriter(x *Index, m *manifest, s *state, l *logFile) *writer {
	w := &writer{x: x, m: m, state: s, log: l, requests: make(chan *request), done: make(chan struct{})}
	w.retryRows = w.sealThreshold()
	w.next.Store(m.Next)
	w.halted = make(chan struct{})
	w.ensureSpare()
	go w.run()
	return w
}

func (w *writer) add(ctx context.Context, entries []store.Item, opt AddOptions) (Added, error) {
	r, err := w.submit(&request{ctx: ctx, entries: entries, existing: opt.Existing, progress: opt.Progress})
	if err == nil && opt.Progress != nil {
		opt.Progress(len(entries))
	}
	return r.added, err
}

func (w *writer) remove(ctx context.Context, ids []string) (int, error) {
	r, err := w.submit(&request{ctx: ctx, remove: ids})
	return r.removed, err
}

// submit sends a request to the writer and waits for its reply.
func (w *writer) submit(r *request) (reply, error) {
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
		return reply{}, fmt.Errorf("waiting for other changes: %w", r.ctx.Err())
	}
	w.mu.RUnlock()
	out := <-r.reply
	return out, out.err
}

// stop waits for the requests that were accepted.
func (w *writer) stop() error {
	w.halting.Lock()
	close(w.halted)
	w.halting.Unlock()
	w.merges.Wait()
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	close(w.requests)
	<-w.done
	return w.log.finish()
}

func (w *writer) run() {
	defer close(w.done)
	for r := range w.requests {
		for r != nil {
			r = w.writeTogether(r)
		}
	}
}

// writeTogether processes a request, together with waiting ones if they are small. It returns
// a request that was received but not processed, or nil.
func (w *writer) writeTogether(r *request) (next *request) {
	if r.compute != nil {
		if err := w.compute(r); err != nil {
			r.reply <- reply{err: err}
			return nil
		}
	}
	if w.needsManifest(r) {
		r.reply <- w.replaceManifest(r)
		return nil
	}
	batch, size := []*request{r}, r.size()
	for len(batch) < maxBatchRequests && size < maxBatchBytes && next == nil {
		select {
		case r := <-w.requests: // nil when there will be no more
			switch {
			case r == nil:
				w.write(batch)
				return nil
			case r.compute != nil, w.needsManifest(r):
				next = r
			default:
				batch, size = append(batch, r), size+r.size()
			}
			continue
		default:
		}
		break
	}
	w.write(batch)
	return next
}

// compute makes the change of a request. All earlier changes are visible to it.
func (w *writer) compute(r *request) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	c, err := r.compute()
	if err != nil {
		return err
	}
	for i := range c.Put {
		if err := checkItem(&c.Put[i], w.x.dim); err != nil {
			return err
		}
	}
	r.entries, r.remove, r.progress, r.compute = c.Put, c.Remove, c.Progress, nil
	return nil
}

// needsManifest reports whether a request needs a new manifest instead of a frame of the log.
func (w *writer) needsManifest(r *request) bool {
	return r.seal || r.install != nil || r.replace != nil || len(r.entries) >= w.x.sizes.bulkRows ||
		r.size() >= maxBatchBytes
}

// size returns the approximate number of bytes of a request in the log.
func (r *request) size() int {
	n := 0
	for i := range r.entries {
		n += 4*len(r.entries[i].Vector) + 64
	}
	return n
}

// replaceManifest processes a request that needs a new manifest.
func (w *writer) replaceManifest(r *request) (out reply) {
	err := r.ctx.Err()
	if err == nil && w.broken != nil {
		err = w.checkOpen()
	}
	if err != nil {
		return reply{err: err}
	}
	switch {
	case r.install != nil:
		out.err = w.install(r.install)
	case r.replace != nil:
		out.err = w.replace(r.replace, r.network)
	case r.seal:
		out.err = w.rotate(r.ctx, nil, nil)
	default:
		out = w.addBulk(r)
	}
	return out
}

func (w *writer) checkOpen() error {
	return fmt.Errorf("%s accepts no more changes since this error: %w; open it again", w.x.dir, w.broken)
}

// prepareLog returns an error if the log cannot take a frame. A broken log is replaced by a new one,
// because memory holds what was acknowledged.
func (w *writer) prepareLog() error {
	switch {
	case w.broken != nil:
		return w.checkOpen()
	case w.log.broken != nil:
		return w.rotate(context.Background(), nil, nil)
	}
	return nil
}

// recoverMapped runs code that reads segments, and turns faults of their memory into errors.
func recoverMapped(f func() error) error {
	var err error
	return errors.Join(mappedfile.Access(func() { err = f() }), err)
}

// write processes a batch. If the disk is full, it processes only the removals.
func (w *writer) write(batch []*request) {
	replies, err := w.tryWrite(batch)
	if isDiskFull(err) {
		removals := slices.DeleteFunc(slices.Clone(batch), func(r *request) bool { return r.entries != nil })
		if len(removals) > 0 && (w.removeSpare() || len(removals) < len(batch)) {
			for i, r := range batch {
				if r.entries != nil {
					r.reply <- replies[i]
				}
			}
			batch = removals
			replies, err = w.tryWrite(batch)
		}
	}
	for i, r := range batch {
		r.reply <- replies[i]
	}
	if err == nil && w.state.tail.rows() >= w.retryRows {
		// The rows are durable in the log. If the disk is full, they stay there until
		// some more rows were added.
		if err := w.rotate(context.Background(), nil, nil); err != nil {
			w.retryRows = w.state.tail.rows() + w.sealThreshold()/4
		} else {
			w.retryRows = w.sealThreshold()
			w.startMerge()
		}
	}
}

// tryWrite processes a batch: it writes one frame of the log and publishes one view. After an
// error nothing has changed, and the replies have the error.
func (w *writer) tryWrite(batch []*request) ([]reply, error) {
	var content []byte
	operations := 0
	replies := make([]reply, len(batch))
	err := w.prepareLog()
	if err == nil {
		w.state.begin()
		err = recoverMapped(func() error {
			for i, r := range batch {
				ops, out := w.applyRequest(r)
				replies[i] = out
				operations += len(ops)
				for _, op := range ops {
					content = appendOperation(content, op)
				}
			}
			return nil
		})
		if err == nil && len(content) > 0 {
			if err = w.log.append(content, operations); err != nil {
				err = fmt.Errorf("nothing was changed: %w", err)
			}
		}
		if err != nil {
			w.state.rollback()
		} else if w.state.commit(); len(content) > 0 {
			w.state.tail.encode(w.m)
			w.publish()
		}
	}
	for i := range replies {
		if err != nil && replies[i].err == nil {
			replies[i] = reply{err: err}
		}
	}
	return replies, err
}

// publish makes the state visible to searches.
func (w *writer) publish() {
	w.x.publish(newView(w.m, w.state.schema, w.state.parts, w.state.tail))
}

// applyRequest changes the state as a request asks, and returns the operations of that change. A
// request that cannot be met changes nothing.
func (w *writer) applyRequest(r *request) (ops []operation, out reply) {
	if err := r.ctx.Err(); err != nil {
		return nil, reply{err: err}
	}
	if _, err := w.checkRequest(r); err != nil {
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

// checkRequest returns an error for a request that cannot be processed completely. Otherwise it
// returns the columns, including those of the request's items.
func (w *writer) checkRequest(r *request) (*schema, error) {
	s := w.state.schema
	for i := range r.entries {
		more, err := s.newColumns(&r.entries[i])
		if err != nil {
			return nil, err
		}
		s = s.extended(more)
		if r.existing == Refuse {
			if _, _, there := w.state.find(r.entries[i].ID); there {
				return nil, &store.ExistsError{ID: r.entries[i].ID}
			}
		}
	}
	return s, nil
}

// columnList returns the columns of a schema, for a manifest.
func (s *schema) columnList() []store.Column { return append([]store.Column{}, s.columns...) }

// emptyLog replaces the parts, which now hold the rows of the log, and empties the tail.
func (s *state) emptyLog(parts []part) {
	s.parts, s.tail, s.ids = parts, &tail{dim: s.tail.dim}, make(map[string]int)
}
