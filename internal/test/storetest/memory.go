// Package storetest has a store in memory for tests, which can be made to fail, and the
// checks that every store must pass.
package storetest

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kindred-ml/kindred/store"
)

// Memory is a store in memory with Euclidean distances. With a Dim, the zero value is an
// empty store.
type Memory struct {
	Dim int

	mu      sync.RWMutex
	failing func(method string) error
	items   map[string]store.Item
	version uint64
}

// Fault makes the store call f before every method, with the method's name. An error of f
// is the method's error. Fault may be called while the store is in use; nil removes f.
func (m *Memory) Fault(f func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = f
}

func (m *Memory) fault(ctx context.Context, method string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	f := m.failing
	m.mu.RUnlock()
	if f == nil {
		return nil
	}
	return f(method)
}

// Info implements store.Store.
func (m *Memory) Info(ctx context.Context) (store.Info, error) {
	if err := m.fault(ctx, "Info"); err != nil {
		return store.Info{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.info(), nil
}

// info is Info for callers that hold the lock.
func (m *Memory) info() store.Info {
	kinds := map[string]store.Kind{}
	for _, it := range m.items {
		for name, v := range it.Columns {
			kinds[name] = store.KindOf(v)
		}
	}
	info := store.Info{Items: len(m.items), Dim: m.Dim, Distance: "euclidean", Version: m.version}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		info.Columns = append(info.Columns, store.Column{Name: name, Kind: kinds[name]})
	}
	return info
}

// parse reads a filter, which must fit the columns, for callers that hold the lock.
func (m *Memory) parse(text string) (*store.Filter, error) {
	f, err := store.ParseFilter(text)
	if err == nil {
		err = f.Check(m.info().Columns)
	}
	return f, err
}

// Search implements store.Store.
func (m *Memory) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	if err := m.fault(ctx, "Search"); err != nil {
		return nil, err
	}
	if len(q.Vector) != m.Dim {
		return nil, &store.DimensionError{Have: len(q.Vector), Want: m.Dim}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	keep, err := m.parse(q.Filter)
	if err != nil {
		return nil, err
	}
	var hits []store.Hit
	for _, it := range m.items {
		if slices.Contains(q.ExcludeIDs, it.ID) || !keep.Match(&it) {
			continue
		}
		sum := 0.0
		for i, v := range it.Vector {
			d := float64(v) - float64(q.Vector[i])
			sum += d * d
		}
		hits = append(hits, store.Hit{Item: answerItem(it, q.Vectors), Distance: math.Sqrt(sum)})
	}
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	return hits[:min(q.K, len(hits))], nil
}

// answerItem returns an item in the form of answers.
func answerItem(it store.Item, vectors bool) store.Item {
	if !vectors {
		it.Vector = nil
	}
	return it
}

// Get implements store.Store.
func (m *Memory) Get(ctx context.Context, id string) (store.Item, error) {
	if err := m.fault(ctx, "Get"); err != nil {
		return store.Item{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	it, ok := m.items[id]
	if !ok {
		return store.Item{}, &store.NotFoundError{ID: id}
	}
	return it, nil
}

// Put implements store.Store.
func (m *Memory) Put(ctx context.Context, items []store.Item, mode store.Mode) error {
	if err := m.fault(ctx, "Put"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]bool{}
	for i := range items {
		it := &items[i]
		if err := it.Check(m.Dim); err != nil {
			return err
		}
		if _, ok := m.items[it.ID]; (ok && mode == store.Insert) || seen[it.ID] {
			return &store.ExistsError{ID: it.ID}
		}
		seen[it.ID] = true
	}
	if m.items == nil {
		m.items = map[string]store.Item{}
	}
	for _, it := range items {
		it.Columns, it.Vector = maps.Clone(it.Columns), slices.Clone(it.Vector)
		m.items[it.ID] = it
	}
	m.version++
	return nil
}

// Keep stores an item that Put refuses and that an older version accepted.
func (m *Memory) Keep(it store.Item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items[it.ID] = it
	m.version++
}

// Delete implements store.Store.
func (m *Memory) Delete(ctx context.Context, ids []string) (int, error) {
	if err := m.fault(ctx, "Delete"); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.items)
	for _, id := range ids {
		delete(m.items, id)
	}
	m.version++
	return before - len(m.items), nil
}

// List implements store.Store.
func (m *Memory) List(ctx context.Context, p store.Page) ([]store.Item, error) {
	if err := m.fault(ctx, "List"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	keep, err := m.parse(p.Filter)
	if err != nil {
		return nil, err
	}
	var out []store.Item
	for _, id := range slices.Sorted(maps.Keys(m.items)) {
		if it := m.items[id]; id > p.After && keep.Match(&it) && len(out) < p.Limit {
			out = append(out, answerItem(it, p.Vectors))
		}
	}
	return out, nil
}

// Sample implements store.Browser, in an order of the ids' checksums.
func (m *Memory) Sample(ctx context.Context, p store.Page, seed uint64) ([]store.Item, int, error) {
	if err := m.fault(ctx, "Sample"); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	keep, err := m.parse(p.Filter)
	if err != nil {
		return nil, 0, err
	}
	drawn := func(id string) uint32 { return crc32.ChecksumIEEE(fmt.Append(nil, seed, id)) }
	var out []store.Item
	passed := 0
	for _, it := range m.items {
		if keep.Match(&it) {
			if passed++; p.After == "" || drawn(it.ID) > drawn(p.After) {
				out = append(out, answerItem(it, p.Vectors))
			}
		}
	}
	slices.SortFunc(out, func(a, b store.Item) int { return cmp.Compare(drawn(a.ID), drawn(b.ID)) })
	return out[:min(p.Limit, len(out))], passed, nil
}

// Like implements store.Browser: it returns the ids that contain the text.
func (m *Memory) SimilarIDs(ctx context.Context, text string, limit int) ([]string, error) {
	if err := m.fault(ctx, "Like"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(m.items)) {
		if strings.Contains(id, text) && len(out) < limit {
			out = append(out, id)
		}
	}
	return out, nil
}

// All implements store.Store, in the order of ids, so that a test draws the same items each time.
func (m *Memory) All(ctx context.Context) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		if err := m.fault(ctx, "All"); err != nil {
			yield(store.Item{}, err)
			return
		}
		m.mu.RLock()
		var items []store.Item
		for _, id := range slices.Sorted(maps.Keys(m.items)) {
			items = append(items, m.items[id])
		}
		m.mu.RUnlock()
		for _, it := range items {
			if !yield(it, ctx.Err()) {
				return
			}
		}
	}
}
