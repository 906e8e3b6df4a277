package serve

import (
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// Labels are counted when they were not yet, and again when the items have changed, but not
// before the last count has been paid for.
func TestCountedAgain(t *testing.T) {
	m := &storetest.Memory{Dim: 1}
	put := func(id, label string) *store.Info {
		t.Helper()
		item := store.Item{ID: id, Vector: []float32{1}, Columns: map[string]any{"label": label}}
		if err := m.Put(t.Context(), []store.Item{item}, store.Replace); err != nil {
			t.Fatal(err)
		}
		info, err := m.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return &info
	}
	s := newServer(t, Options{Collections: []Collection{{Name: "things", Store: m}}})
	c := s.collections[0]
	first := put("a", "x")
	asked := func(info *store.Info, wait time.Duration, want int) {
		t.Helper()
		c.labelCounts.mu.Lock()
		before := c.labelCounts.current
		c.labelCounts.next = time.Now().Add(wait)
		c.labelCounts.mu.Unlock()
		got, err := s.countLabels(t.Context(), c, info)
		if err != nil || got.Items != want {
			t.Errorf("%d items, %v, want %d", got.Items, err, want)
		}
		c.labelCounts.mu.Lock()
		defer c.labelCounts.mu.Unlock()
		if again := c.labelCounts.current != before; again != (before == nil || wait < 0 &&
			info.Version != first.Version) {
			t.Errorf("version %d after %v: counted %v", info.Version, wait, again)
		}
	}
	asked(first, time.Hour, 1) // the first count waits for nothing
	asked(first, -time.Hour, 1)
	second := put("b", "y")
	asked(second, time.Hour, 1)
	asked(second, -time.Hour, 2)
}
