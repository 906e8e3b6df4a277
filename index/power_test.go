package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/powertest"
	"github.com/kindred-ml/kindred/store"
)

// changeMade is something that was done to an index: what it made of the items, and between
// which steps of the disk.
type changeMade struct {
	begin, end int
	after      map[string]int // generations of the items
}

// poweredIndex is an index whose disk is recorded.
type poweredIndex struct {
	t     *testing.T
	disk  *powertest.Disk
	x     *Index
	rng   *rand.Rand
	stamp int
	made  []changeMade
}

// do makes a change and notes when it was acknowledged.
func (p *poweredIndex) do(f func(now map[string]int) error) {
	p.t.Helper()
	now := maps.Clone(p.made[len(p.made)-1].after)
	begin := p.disk.Steps()
	if err := f(now); err != nil {
		p.t.Fatal(err)
	}
	p.made = append(p.made, changeMade{begin, p.disk.Steps(), now})
}

// some are items, few or as many as become a segment at once.
func (p *poweredIndex) some() []store.Item {
	n := 1 + p.rng.IntN(3)
	if p.rng.IntN(8) == 0 {
		n = tinyLimits().bulkRows
	}
	p.stamp++
	var out []store.Item
	for _, i := range p.rng.Perm(40)[:n] {
		out = append(out, generation(fmt.Sprintf("id %d", i), p.stamp))
	}
	return out
}

// tinyLimits makes segments and merges of few items.
func tinyLimits() limits { return limits{bulkRows: 12, sealRows: 15, mergeCount: 2} }

// work does something to the index.
func (p *poweredIndex) work(ctx context.Context) {
	p.t.Helper()
	switch k := p.rng.IntN(24); {
	case k >= 20: // both at once; what is removed and put is there
		p.do(func(now map[string]int) error {
			var c Change
			for _, e := range p.some() {
				c.Remove = append(c.Remove, e.ID)
				delete(now, e.ID)
			}
			c.Put = p.some()
			for i := range c.Put {
				now[c.Put[i].ID] = p.stamp
			}
			_, _, err := p.x.Change(ctx, c)
			return err
		})
	case k < 12:
		p.do(func(now map[string]int) error {
			e := p.some()
			for i := range e {
				now[e[i].ID] = p.stamp
			}
			_, err := p.x.Add(ctx, e, AddOptions{Existing: Replace})
			return err
		})
	case k < 17:
		p.do(func(now map[string]int) error {
			var ids []string
			for _, e := range p.some() {
				ids = append(ids, e.ID)
				delete(now, e.ID)
			}
			_, err := p.x.Remove(ctx, ids...)
			return err
		})
	case k < 18:
		p.do(func(map[string]int) error { return p.x.Compact(ctx, CompactOptions{}) })
	default: // the next start
		p.do(func(map[string]int) error {
			err := p.x.Close()
			if err == nil {
				p.x, err = (&Index{dir: p.x.dir, sizes: tinyLimits(), files: p.x.files}).open()
			}
			return err
		})
	}
}

// expected is what may be there after a number of steps: what was acknowledged by then,
// and, if one was under way, what the next change makes of it.
func (p *poweredIndex) expected(steps int) (acknowledged int, may []map[string]int) {
	for k, c := range p.made {
		if c.end <= steps {
			acknowledged, may = k, []map[string]int{c.after}
		} else if c.begin < steps {
			may = append(may, c.after)
		}
	}
	return acknowledged, may
}

// An index outlives a loss of power after any step, whatever the disk kept of what was not
// synced: what was acknowledged is there to the bit, what was not is there whole or not at
// all, nothing is called damaged, and changes go on. 500 states with -short, 2,000 without,
// 12,000 with KINDRED_LONG.
func TestPowerLoss(t *testing.T) {
	states := 2000
	switch {
	case os.Getenv("KINDRED_LONG") != "":
		states = 12000
	case testing.Short():
		states = 500
	}
	total := 0
	for seed := uint64(1); total < states; seed++ {
		total += powerLoss(t, seed, min(500, states-total), 1)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d states", total)
}

// powerLoss records some work with an index, and looks at up to so many states, in some of
// which the work goes on to lose power again.
func powerLoss(t *testing.T, seed uint64, states, again int) (looked int) {
	dir := t.TempDir()
	p := &poweredIndex{t: t, disk: powertest.Record(t, dir), rng: rand.New(rand.NewPCG(seed, 3))}
	p.made = []changeMade{{0, 0, nil}} // no index
	p.do(func(now map[string]int) (err error) {
		p.x, err = (&Index{dir: dir, sizes: tinyLimits(), files: p.disk.Files()}).create(Config{Dim: 8})
		return err
	})
	p.made[1].after = map[string]int{}
	return p.lose(seed, states, again, 60)
}

// lose works for a while and then looks at states, each with a chance that spreads them
// over all steps.
func (p *poweredIndex) lose(seed uint64, states, again, work int) (looked int) {
	t := p.t
	t.Helper()
	for range work {
		p.work(t.Context())
	}
	if err := p.x.Close(); err != nil {
		t.Fatal(err)
	}
	p.disk.CheckComplete()
	seen := make(map[[2]uint64]bool)
	pick := rand.New(rand.NewPCG(seed, 4))
	p.disk.States(seed, 4, func(s *powertest.State) bool {
		acknowledged, may := p.expected(s.Steps)
		key := [2]uint64{s.Sum(), uint64(acknowledged)}
		if seen[key] || pick.IntN(8) != 0 {
			return true
		}
		seen[key] = true
		looked++
		dir := t.TempDir()
		s.Write(t, dir)
		found, ok := p.look(dir, s.Steps, may)
		if !ok {
			t.Errorf("seed %d, after step %d of %d: %s", seed, s.Steps, p.disk.Steps(), list(dir))
			return false
		}
		if found != nil && again > 0 && pick.IntN(60) == 0 {
			looked += p.resume(dir, found, seed, min(60, states-looked), again-1)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		return looked < states && !t.Failed()
	})
	return looked
}

// look opens what a loss of power left, and returns what was found in it, nil if there is
// rightly no index yet.
func (p *poweredIndex) look(dir string, step int, may []map[string]int) (found map[string]int, ok bool) {
	t := p.t
	x, err := (&Index{dir: dir, readOnly: true, sizes: tinyLimits()}).open()
	if errors.Is(err, fs.ErrNotExist) && may[0] == nil {
		if x, err = (&Index{dir: dir, sizes: tinyLimits()}).create(Config{Dim: 8}); err != nil {
			t.Errorf("created again: %v", err)
			return nil, false
		}
		return nil, x.Close() == nil
	}
	if err != nil {
		t.Error(err)
		return nil, false
	}
	defer x.Close()
	found = make(map[string]int)
	for e, err := range x.All() {
		if err != nil {
			t.Error(err)
			return nil, false
		}
		found[e.ID] = int(e.Columns["n"].(float64))
		if !isSameItem(e, generation(e.ID, found[e.ID])) {
			t.Errorf("%q is not as it was added: %+v", e.ID, e)
			return nil, false
		}
	}
	for _, want := range may {
		ok = ok || want != nil && maps.Equal(found, want)
	}
	if !ok {
		t.Errorf("there is %v: want one of %v", found, may)
	}
	if s := x.Info().Shortfall; s != nil {
		t.Errorf("%v, without anything missing", s)
		ok = false
	}
	c, err := Check(t.Context(), dir, CheckOptions{})
	if err != nil || len(c.Problems) > 0 {
		t.Errorf("checked: %v, %+v", err, c)
		ok = false
	}
	return found, ok
}

// resume goes on with an index that a loss of power left, until the next one.
func (p *poweredIndex) resume(dir string, found map[string]int, seed uint64, states, again int) int {
	q := &poweredIndex{t: p.t, disk: powertest.Record(p.t, dir), rng: p.rng, stamp: p.stamp + 1000}
	q.made = []changeMade{{0, 0, found}}
	q.do(func(map[string]int) (err error) {
		q.x, err = (&Index{dir: dir, sizes: tinyLimits(), files: q.disk.Files()}).open()
		return err
	})
	return q.lose(seed, states, again, 6)
}

// list names the files of a folder, for messages.
func list(dir string) (out string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			out += fmt.Sprintf("%s (%d) ", e.Name(), info.Size())
		}
	}
	return out
}
