package store_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// failCalls lets a store fail n times.
func failCalls(m *storetest.Memory, n int) *int {
	calls := 0
	m.Fault(func(string) error {
		if calls++; calls <= n {
			return &store.UnavailableError{Err: errors.New("away")}
		}
		return nil
	})
	return &calls
}

func TestPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := &storetest.Memory{Dim: 2}
		p := store.WithRetries(m, time.Minute)
		items := []store.Item{{ID: "a", Vector: []float32{1, 2}}}
		failCalls(m, 5)
		if err := p.Put(ctx, items, store.Replace); err != nil {
			t.Error(err)
		}
		failCalls(m, 5)
		n := 0
		for it, err := range p.All(ctx) {
			if n++; err != nil || it.ID != "a" {
				t.Error(it, err)
			}
		}
		if n != 1 {
			t.Errorf("%d items", n)
		}
		calls := failCalls(m, 5)
		var gone *store.UnavailableError
		if err := p.Put(ctx, items, store.Insert); !errors.As(err, &gone) || *calls != 1 {
			t.Errorf("an Insert was made %d times: %v", *calls, err)
		}
		calls = failCalls(m, 1e6)
		begun := time.Now()
		_, err := p.Info(ctx)
		if took := time.Since(begun); !errors.As(err, &gone) ||
			!strings.Contains(err.Error(), "after retries for 1m") ||
			took < time.Minute || took > time.Minute+3*time.Second || *calls > 60 {
			t.Errorf("after %v and %d calls: %v", took, *calls, err)
		}
		m.Fault(func(string) error { return store.ErrFull })
		if _, err := p.Search(ctx, store.Query{Vector: []float32{1, 2}, K: 1}); !errors.Is(err, store.ErrFull) {
			t.Error(err)
		}
		failCalls(m, 1e6)
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if _, err := p.Get(short, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// breakingStore is a store whose items end with an error, after which there would be more.
type breakingStore struct{ *storetest.Memory }

func (breakingStore) All(context.Context) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		_ = yield(store.Item{ID: "a"}, nil) && yield(store.Item{ID: "b"}, nil) &&
			yield(store.Item{}, &store.UnavailableError{Err: errors.New("away")}) && yield(store.Item{ID: "c"}, nil)
	}
}

// What has begun to be read is not begun again: All ends with the error, or where it is
// stopped.
func TestPatientAllEnds(t *testing.T) {
	p := store.WithRetries(breakingStore{&storetest.Memory{Dim: 2}}, time.Minute)
	for stop, want := range map[string]string{"": "a b !", "a": "a", "b": "a b"} {
		var have []string
		for it, err := range p.All(t.Context()) {
			if err != nil {
				it.ID = "!"
			}
			if have = append(have, it.ID); it.ID == stop {
				break
			}
		}
		if strings.Join(have, " ") != want {
			t.Errorf("until %q: %q, want %s", stop, have, want)
		}
	}
}

func TestConfig(t *testing.T) {
	c := store.Config{Dim: 3}
	if err := c.Check("a_1", 10); err != nil || c.Distance != "euclidean" || c.MaxNeighbours != 16 ||
		c.BuildCandidates != 64 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []store.Config{{}, {Dim: 11}, {Dim: 2, Distance: "taxi"}, {Dim: 2, MaxNeighbours: 1},
		{Dim: 2, MaxNeighbours: 40}, {Dim: 2, BuildCandidates: 2000}, {Dim: -1}} {
		if err := bad.Check("a", 10); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for _, name := range []string{"", "A", "a b", "1a", "a-b", strings.Repeat("a", 52)} {
		if err := store.CheckName(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}
