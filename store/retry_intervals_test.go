package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// Calls are made again after 50 ms, then after twice as long each time up to 2 s, and the
// last one not before the patience is at its end.
func TestIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &storetest.Memory{Dim: 2}
		var at []time.Duration
		begun := time.Now()
		m.Fault(func(string) error {
			at = append(at, time.Since(begun))
			return &store.UnavailableError{Err: errors.New("away")}
		})
		p := store.WithRetries(m, 5150*time.Millisecond)
		_, err := p.Get(t.Context(), "a")
		var want []time.Duration
		for _, ms := range []time.Duration{0, 50, 150, 350, 750, 1550, 3150, 5150} {
			want = append(want, ms*time.Millisecond)
		}
		if len(at) != len(want) || err == nil || err.Error() != "after retries for 5s: away" {
			t.Fatalf("at %v: %v", at, err)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("call %d came after %v, want %v", i, at[i], want[i])
			}
		}
		// Of a context that has ended, nothing is asked again.
		at = nil
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := p.List(ctx, store.Page{}); err == nil || len(at) > 1 {
			t.Errorf("%d calls: %v", len(at), err)
		}
	})
}

// Items are listed anew only until the first has been given out; an error after that, and
// who has seen enough, end it.
func TestPatientAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &storetest.Memory{Dim: 1}
		if err := m.Put(t.Context(), []store.Item{{ID: "a", Vector: []float32{1}}, {ID: "b", Vector: []float32{2}}},
			store.Replace); err != nil {
			t.Fatal(err)
		}
		p := store.WithRetries(m, time.Second)
		n := 0
		for range p.All(t.Context()) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d items to who has seen enough", n)
		}
		failCalls(m, 1e6)
		var errs []error
		for it, err := range p.All(t.Context()) {
			if errs = append(errs, err); it.ID != "" {
				t.Errorf("item %q of a store that is away", it.ID)
			}
		}
		var gone *store.UnavailableError
		if len(errs) != 1 || !errors.As(errs[0], &gone) {
			t.Errorf("%v", errs)
		}
		if n, err := p.Delete(t.Context(), []string{"a"}); err == nil || n != 0 {
			t.Errorf("%d removed: %v", n, err)
		}
		failCalls(m, 2)
		if n, err := p.Delete(t.Context(), []string{"a"}); err != nil || n != 1 {
			t.Errorf("%d removed: %v", n, err)
		}
	})
}
