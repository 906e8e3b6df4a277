package index

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// A write that failed leaves the log as it was, so that the next one follows what was
// acknowledged; a log that cannot be put back takes no more.
func TestLogAfterFailure(t *testing.T) {
	full := errors.New("the disk is full")
	for name, fails := range map[string]map[string]int{ // the n-th step of a kind from here on
		"the frame is not written": {"write": 1}, "the frame is not synced": {"sync": 1},
		"nor is its end restored": {"write": 1, "sync": 1}, "its mark is not written": {"write": 2}} {
		count := map[string]int{}
		armed := false
		files := atomic.Files{Fault: func(op, _ string) error {
			if !armed {
				return nil
			}
			count[op]++
			if count[op] == fails[op] {
				return full
			}
			return nil
		}}
		path := filepath.Join(t.TempDir(), "log")
		l, err := createLog(files, path, "identity")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.append([]byte("first"), 1); err != nil {
			t.Fatal(err)
		}
		before := l.mark
		armed = true
		if err := l.append([]byte("second"), 2); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
		armed = false
		err = l.append([]byte("third"), 3)
		if strings.HasPrefix(name, "the ") {
			if err != nil || l.mark.frames != before.frames+1 || l.mark.operations != before.operations+3 ||
				l.mark.end != before.end+frameHeader+5 {
				t.Errorf("%s: then %v, %+v after %+v", name, err, l.mark, before)
			}
		} else if err == nil || !strings.Contains(err.Error(), "accepts no more changes since this error: the disk "+
			"is full") {
			t.Errorf("%s: then %v", name, err)
		}
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}
}

// The last who uses a view lets its segments go, and nobody before.
func TestViewRelease(t *testing.T) {
	x := create(t, Config{Dim: 2})
	add(t, x, entries(30, 2, 1), AddOptions{})
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	v, err := x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer v.release()
	if len(v.parts) == 0 {
		t.Fatal("no segment")
	}
	s := v.parts[0].seg
	before := s.refs.Load()
	other := newView(v.m, v.schema, v.parts, v.tail)
	if got := s.refs.Load(); got != before+1 {
		t.Errorf("%d references, want %d", got, before+1)
	}
	other.refs.Add(1) // somebody reads
	if other.release(); s.refs.Load() != before+1 {
		t.Error("released while somebody reads")
	}
	if other.release(); s.refs.Load() != before {
		t.Errorf("%d references when nobody reads any more, want %d", s.refs.Load(), before)
	}
}

// What was removed and still takes room is counted, in segments and in the log.
func TestRemovedIsCounted(t *testing.T) {
	x := create(t, Config{Dim: 2})
	all := entries(12, 2, 1)
	add(t, x, all[:10], AddOptions{})
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	add(t, x, all[10:], AddOptions{})
	if _, err := x.Remove(t.Context(), all[0].ID, all[4].ID, all[9].ID, all[11].ID); err != nil {
		t.Fatal(err)
	}
	if in := x.Info(); in.Removed != 4 || in.Items != 8 || in.Logged != 1 {
		t.Errorf("%d removed, %d items, %d in the log: want 4, 8 and 1", in.Removed, in.Items, in.Logged)
	}
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if in := x.Info(); in.Removed != 0 || in.Items != 8 {
		t.Errorf("%d removed, %d items after compacting: want 0 and 8", in.Removed, in.Items)
	}
}

// A query that is moved stays one: where float32 has no such vector it is where it was.
func TestMovedIsFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, x := range [][]float32{{3e38}, {3e38, 1}, {1, 3e38}} {
		y := make([]float32, len(x))
		for j := range y {
			y[j] = -x[j]
		}
		for range 20 {
			if got := moveRandomly(x, y, rng); firstNonFinite(got) >= 0 {
				t.Fatalf("%v is moved to %v", x, got)
			}
		}
	}
}

// A change that changes nothing writes nothing, and is no new version for those who compare them:
// neither one that goes into the log nor one that would be a segment.
func TestNothingIsNoChange(t *testing.T) {
	for _, bulk := range []int{3, 1000} {
		open := &Index{dir: t.TempDir(), sizes: limits{bulkRows: bulk, sealRows: 1000, mergeCount: 8}}
		x, err := open.create(Config{Dim: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		add(t, x, entries(3, 2, 1), AddOptions{})
		log, generation, version := x.w.log.mark, x.w.m.Generation, x.Info().Version
		if n, err := x.Remove(t.Context(), "nobody"); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		if a := add(t, x, entries(3, 2, 2), AddOptions{Existing: Skip}); a.Skipped != 3 {
			t.Fatalf("%+v", a)
		}
		if x.w.log.mark != log || x.w.m.Generation != generation || x.Info().Version != version {
			t.Errorf("%d at once: %+v after %+v, manifest %d after %d, version %v after %v", bulk, x.w.log.mark, log,
				x.w.m.Generation, generation, x.Info().Version, version)
		}
	}
}
