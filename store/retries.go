package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// UnavailableError is the error if the engine was not reached, or could not answer at the
// moment, for example because one of its machines died. The same call can succeed
// later.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// WithRetries returns a store that repeats calls that fail with an *UnavailableError, at
// growing intervals of up to 2 s, for up to patience from the first failure. A failed
// call may have had its effect. Delete therefore counts only the items that its last attempt
// removed, and Put with Insert is tried only once. All is repeated only until it has
// yielded an item.
func WithRetries(s Store, patience time.Duration) Store { return &retryingStore{s, patience} }

type retryingStore struct {
	s         Store
	retryTime time.Duration
}

// retry calls f until it succeeds, fails with another error, or patience has passed.
func (p *retryingStore) retry(ctx context.Context, f func() error) error {
	var since time.Time
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := f()
		var gone *UnavailableError
		if !errors.As(err, &gone) || ctx.Err() != nil {
			return err
		}
		if since.IsZero() {
			since = time.Now()
		} else if tried := time.Since(since); tried >= p.retryTime {
			return fmt.Errorf("after retries for %v: %w", tried.Round(time.Second), err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

// retryValue is try for a call with a result.
func retryValue[T any](ctx context.Context, p *retryingStore, f func() (T, error)) (out T, err error) {
	err = p.retry(ctx, func() (err error) {
		out, err = f()
		return err
	})
	return out, err
}

func (p *retryingStore) Info(ctx context.Context) (Info, error) {
	return retryValue(ctx, p, func() (Info, error) { return p.s.Info(ctx) })
}

func (p *retryingStore) Search(ctx context.Context, q Query) ([]Hit, error) {
	return retryValue(ctx, p, func() ([]Hit, error) { return p.s.Search(ctx, q) })
}

func (p *retryingStore) Get(ctx context.Context, id string) (Item, error) {
	return retryValue(ctx, p, func() (Item, error) { return p.s.Get(ctx, id) })
}

func (p *retryingStore) Put(ctx context.Context, items []Item, mode Mode) error {
	if mode == Insert {
		return p.s.Put(ctx, items, mode)
	}
	return p.retry(ctx, func() error { return p.s.Put(ctx, items, mode) })
}

func (p *retryingStore) Delete(ctx context.Context, ids []string) (int, error) {
	return retryValue(ctx, p, func() (int, error) { return p.s.Delete(ctx, ids) })
}

func (p *retryingStore) List(ctx context.Context, page Page) ([]Item, error) {
	return retryValue(ctx, p, func() ([]Item, error) { return p.s.List(ctx, page) })
}

func (p *retryingStore) All(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		begun, stopped := false, false
		err := p.retry(ctx, func() error {
			for it, err := range p.s.All(ctx) {
				if err != nil && !begun {
					return err
				}
				begun = true
				if !yield(it, err) || err != nil {
					stopped = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(Item{}, err)
		}
	}
}
