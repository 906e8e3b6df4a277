package index

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	files "github.com/kindred-ml/kindred/internal/base/atomic"
)

// Where the log cannot become a segment, it takes a quarter of what it should hold before
// that is tried again; when it can, all is as before.
func TestLogThatCannotBecomeASegment(t *testing.T) {
	var full atomic.Bool
	var tries atomic.Int64
	z := limits{bulkRows: 1000, sealRows: 20, mergeCount: 100}
	open := &Index{dir: t.TempDir(), sizes: z, files: files.Files{Fault: func(op, path string) error {
		if full.Load() && op == "create" { // a file beside the log
			tries.Add(1)
			return errors.New("no room")
		}
		return nil
	}}}
	x, err := open.create(Config{Dim: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	all := entries(60, 4, 1)
	at := 0
	next := func(n int) {
		t.Helper()
		for range n {
			add(t, x, all[at:at+1], AddOptions{})
			at++
		}
		// A change that adds nothing waits for what came after the last one.
		if n, err := x.Remove(t.Context(), "nobody"); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	segments := func() int {
		all, err := filepath.Glob(filepath.Join(x.dir, "*.seg"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	full.Store(true)
	next(19)
	if tries.Load() != 0 {
		t.Errorf("tried with 19 rows")
	}
	next(1)
	first := tries.Load()
	next(4)
	if tries.Load() != first || first == 0 {
		t.Errorf("tried %d and %d times with 20 and 24 rows", first, tries.Load())
	}
	next(1)
	if tries.Load() == first {
		t.Error("not tried with 25 rows")
	}
	full.Store(false)
	if next(4); segments() != 0 {
		t.Errorf("%d segments of 29 rows", segments())
	}
	if next(1); segments() != 1 {
		t.Errorf("%d segments of 30 rows", segments())
	}
	if next(19); segments() != 1 {
		t.Errorf("%d segments of 30 and 19 rows", segments())
	}
	if next(1); segments() != 2 {
		t.Errorf("%d segments of 30 and 20 rows", segments())
	}
	if in := x.Info(); in.Items != 50 {
		t.Errorf("%d items", in.Items)
	}
}
