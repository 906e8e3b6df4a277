package queue

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/jobs"
)

// task is one attempt at a job, whose worker holds the lease.
type task struct {
	session *session
	key     string
	job     jobs.Job

	mu       sync.Mutex
	record   record
	revision uint64
	text     string // reported and not yet written
}

func (t *task) title() string { return cmp.Or(t.job.Title, t.job.Kind+" "+t.key) }

func (t *task) Job() jobs.Job { return t.job }

func (t *task) Report(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = shorten(text)
}

func (t *task) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return t.session.w.Queue.Open(ctx, name)
}

// set changes the record and writes it.
func (t *task) set(ctx context.Context, change func(*record)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.record
	change(&next)
	revision, err := t.session.w.Queue.write(ctx, t.key, &next, t.revision)
	if err == nil {
		t.record, t.revision = next, revision
	}
	return err
}

// keepLease keeps the lease until ctx ends, and ends the work by stop when it is lost or
// the job cancelled.
func (t *task) keepLease(ctx context.Context, m jetstream.Msg, stop context.CancelCauseFunc) {
	every := min(t.session.lease/4, 5*time.Second)
	for sleep(ctx, every) {
		_ = m.InProgress() // a server that is away gets the next one
		t.mu.Lock()
		text, told := t.text, t.record.Text
		t.mu.Unlock()
		var err error
		one, cancel := context.WithTimeout(ctx, every)
		if text != told {
			err = t.set(one, func(r *record) { r.Text = text })
		} else {
			err = t.check(one)
		}
		cancel()
		if errors.Is(err, errNotOurs) || errors.Is(err, jetstream.ErrKeyNotFound) {
			stop(errNotOurs)
			return
		}
	}
}

// check returns errNotOurs if the job is no longer this attempt's.
func (t *task) check(ctx context.Context) error {
	r, e, err := t.session.w.Queue.read(ctx, t.key)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Revision() > t.revision && (r.Token != t.record.Token || r.State != Running) {
		return errNotOurs
	}
	return nil
}

// Save stores a checkpoint under a name of its own and then names it in the record,
// so that a successor finds a whole one at any time.
func (t *task) Save(ctx context.Context, write func(io.Writer) error) error {
	q := t.session.w.Queue
	if ctx.Err() != nil { // the worker stops, and has this left to do
		var cancel context.CancelFunc
		ctx, cancel = q.closingContext(ctx, settleTimeout)
		defer cancel()
	}
	name := "checkpoint." + t.key + "." + time.Now().UTC().Format("150405.000000000") + t.record.Token
	signature := ""
	err := q.put(ctx, name, func(w io.Writer) error {
		if len(q.o.Secret) == 0 {
			return write(w)
		}
		h := q.mac(signedCheckpoint, t.key)
		if err := write(io.MultiWriter(w, h)); err != nil {
			return err
		}
		signature = hex.EncodeToString(h.Sum(nil))
		return nil
	})
	if err != nil {
		return err
	}
	old := ""
	err = t.set(ctx, func(r *record) { old, r.Checkpoint, r.CheckpointSignature = r.Checkpoint, name, signature })
	if err != nil {
		old = name
	}
	q.removeObject(ctx, old)
	return err
}

func (t *task) Restore(ctx context.Context) (io.ReadCloser, error) {
	t.mu.Lock()
	name, signature := t.record.Checkpoint, t.record.CheckpointSignature
	t.mu.Unlock()
	if name == "" {
		return nil, nil
	}
	r, err := t.session.w.Queue.openObject(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) { // too old; the job begins again
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(t.session.w.Queue.o.Secret) == 0 {
		return r, nil
	}
	return &digestReader{r, t.session.w.Queue.mac(signedCheckpoint, t.key), signature,
		errors.New("its checkpoint is not signed with this worker's secret: it was changed, or a worker " +
			"with another secret wrote it; remove the job with 'kindred jobs remove'")}, nil
}

// finish stores the result and makes it count, once.
func (t *task) finish(ctx context.Context, out []byte) error {
	q := t.session.w.Queue
	ctx, cancel := q.closingContext(ctx, 10*time.Minute)
	defer cancel()
	object := ""
	if len(out) > maxInline {
		object = "result." + t.key + "." + t.record.Token
		if err := q.put(ctx, object, func(w io.Writer) error { _, err := w.Write(out); return err }); err != nil {
			return err
		}
	}
	checkpoint := ""
	err := t.set(ctx, func(r *record) {
		checkpoint = r.Checkpoint
		r.State, r.Text, r.Error, r.Checkpoint, r.Output = Done, "", "", "", object
		r.CheckpointSignature, r.OutputSignature = "", q.sign(signedResult, t.key, out)
		if object == "" {
			r.Inline = out
		}
	})
	if err != nil {
		q.removeObject(ctx, object)
		return err
	}
	q.removeObject(ctx, checkpoint)
	return nil
}
