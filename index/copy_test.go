package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// copyFolder copies the files of a folder in the order of their names, as cp -r does with a folder that changes.
func copyFolder(from, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if err != nil {
			return err
		}
		if e.IsDir() {
			continue
		}
		var b []byte
		if b, err = os.ReadFile(filepath.Join(from, e.Name())); err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), b, 0o666)
		}
	}
	return err
}

// TestCopyWhileWritten copies an index, as cp -r does, while items are added, with segments that are written and merged
// all the time. A copy has all items that were acknowledged before it began, or cp or Check says that it is not whole:
// a file was replaced in between. In use a segment has 8,192 rows, and most copies are whole.
func TestCopyWhileWritten(t *testing.T) {
	x, err := Create(filepath.Join(t.TempDir(), "x.index"), Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	x.sizes = smallLimits()
	var acked atomic.Int64
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			items := make([]store.Item, 20)
			for k := range items {
				items[k] = store.Item{ID: fmt.Sprint(20*i + k), Vector: []float32{float32(i), 1}}
			}
			if _, err := x.Add(t.Context(), items, AddOptions{}); err != nil {
				t.Error(err)
				return
			}
			acked.Store(int64(20 * (i + 1)))
		}
	}()
	outcome := map[string]int{}
	for k := range 60 {
		to := filepath.Join(t.TempDir(), fmt.Sprint(k))
		before := acked.Load()
		if err := copyFolder(x.Dir(), to); errors.Is(err, fs.ErrNotExist) {
			outcome["cp says so"]++
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		c, err := Check(t.Context(), to, CheckOptions{})
		switch {
		case err != nil || len(c.Problems) > 0:
			outcome["check says so"]++
		case int64(c.Items) < before:
			t.Fatalf("a copy has %d items of %d, and nobody says so", c.Items, before)
		default:
			outcome["whole"]++
		}
	}
	stop.Store(true)
	<-done
	t.Logf("%d items, %v", acked.Load(), outcome)
	if outcome["whole"] == 0 {
		t.Error("no copy is whole: the test shows nothing")
	}
}
