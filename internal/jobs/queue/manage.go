package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/jobs"
)

// List returns the jobs of the queue, of all lanes, in the order of their last
// change.
func (q *Queue) List(ctx context.Context) ([]Status, error) {
	var w jetstream.KeyWatcher
	err := retry(ctx, func(context.Context) (err error) { // ctx is that of the whole list
		w, err = q.states.Watch(ctx, "state.*", jetstream.IgnoreDeletes())
		return err
	})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	var all []Status
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e, ok := <-w.Updates():
			if !ok {
				return nil, errors.New("the queue has ended the list: try again")
			}
			if e == nil {
				slices.SortStableFunc(all, func(a, b Status) int { return a.Since.Compare(b.Since) })
				return all, nil
			}
			r, err := parseRecord(e.Value())
			if err != nil {
				return nil, fmt.Errorf("job %s: %w", e.Key(), err)
			}
			all = append(all, r.status(strings.TrimPrefix(e.Key(), "state."), q.lane, e.Created()))
		}
	}
}

// Cancel ends a job that is queued or running. Its worker notices within a few
// seconds.
func (q *Queue) Cancel(ctx context.Context, key string) error {
	return q.change(ctx, key, func(r *record) error {
		if r.State.isFinal() {
			return fmt.Errorf("job %s is %v: there is nothing to cancel", key, r.State)
		}
		r.State, r.Token = Cancelled, ""
		return nil
	})
}

// redo puts a job whose result is lost back into the queue.
func (q *Queue) redo(ctx context.Context, key string) error {
	err := q.change(ctx, key, func(r *record) error {
		if r.State == Done {
			r.State, r.Token, r.Output, r.OutputSignature = Queued, "", "", ""
		}
		return nil
	})
	if err == nil {
		_, err = q.publish(ctx, key)
	}
	return err
}

// Retry puts a job that failed or was cancelled back into the queue, with all its tries. It goes on from its last
// checkpoint.
func (q *Queue) Retry(ctx context.Context, key string) error {
	lane := ""
	err := q.change(ctx, key, func(r *record) error {
		if r.State != Failed && r.State != Cancelled {
			return fmt.Errorf("job %s is %v: only failed and cancelled jobs can be retried", key, r.State)
		}
		r.State, r.Tries, r.Losses, r.Token, lane = Queued, 0, 0, "", r.Lane
		return nil
	})
	if err != nil {
		return err
	}
	other := *q
	other.lane = lane // may be submitted by another program
	there, err := other.publish(ctx, key)
	if err == nil && !there && sleep(ctx, time.Second) {
		_, err = other.publish(ctx, key) // its worker had still to acknowledge the last try
	}
	return err
}

// change changes a record until nobody else does.
func (q *Queue) change(ctx context.Context, key string, f func(*record) error) error {
	for {
		r, e, err := q.read(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
			return fmt.Errorf("the queue has no job %.80q", key)
		} else if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
		if _, err = q.write(ctx, key, r, e.Revision()); !errors.Is(err, errNotOurs) {
			return err
		}
		if !sleep(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// Forget removes jobs with their results and checkpoints from the queue, whatever their state. The program
// that has collected the results calls it. The same jobs are then done again the next
// time.
func (q *Queue) Forget(ctx context.Context, list []jobs.Job) error {
	for _, j := range list {
		if err := q.Remove(ctx, q.key(j)); err != nil {
			return err
		}
	}
	return nil
}

// Remove is Forget for the job of a key, as List has it.
func (q *Queue) Remove(ctx context.Context, key string) error {
	r, _, err := q.read(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	for _, name := range []string{"state." + key, "job." + key} {
		if err := retry(ctx, func(ctx context.Context) error { return q.states.Purge(ctx, name) }); err != nil {
			return err
		}
	}
	q.removeObject(ctx, r.Output)
	q.removeObject(ctx, r.Checkpoint)
	return nil
}

// Find returns the job whose key begins like this.
func (q *Queue) Find(ctx context.Context, beginning string) (Status, error) {
	all, err := q.List(ctx)
	if err != nil {
		return Status{}, err
	}
	var found []Status
	for _, s := range all {
		if strings.HasPrefix(s.Key, beginning) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return Status{}, fmt.Errorf("the queue has no job %.80q", beginning)
	case len(found) > 1:
		return Status{}, fmt.Errorf("%d keys begin with %.80q: give more characters of the key", len(found), beginning)
	}
	return found[0], nil
}
