package index

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	files "github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/store"
)

// A full disk refuses what is added, and lets go what is removed, also of a batch of both.
func TestRemovalFromAFullDisk(t *testing.T) {
	dir := t.TempDir()
	spare := filepath.Join(dir, spareFile)
	var full, crammed atomic.Bool
	kept := smallLimits()
	kept.spareBytes = 5000
	open := &Index{dir: dir, sizes: kept, files: files.Files{Fault: func(op, path string) error {
		_, err := os.Stat(spare)
		if op == "write" && (crammed.Load() || full.Load() && err == nil) { // the spare room is not free yet
			return syscall.ENOSPC
		}
		return nil
	}}}
	x, err := open.create(Config{Dim: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { x.Close() }()
	add(t, x, entries(20, 4, 1), AddOptions{})
	more := []store.Item{{ID: "more", Vector: make([]float32, 4)}}

	full.Store(true)
	if _, err := x.Add(t.Context(), more, AddOptions{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("one added: %v", err)
	}
	if n, err := x.Remove(t.Context(), "item 00003"); n != 1 || err != nil {
		t.Errorf("one removed: %d, %v", n, err)
	}
	if _, err := os.Stat(spare); err == nil {
		t.Errorf("%s is there still", spareFile)
	}
	crammed.Store(true) // also what was freed
	if n, err := x.Remove(t.Context(), "item 00004"); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("without any room: %d, %v", n, err)
	}
	full.Store(false)
	crammed.Store(false)

	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = (&Index{dir: dir, sizes: kept, files: open.files}).open(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(spare); err != nil || st.Size() != 5000 {
		t.Errorf("the room is not kept again: %v", err)
	}
	full.Store(true)
	a := &request{ctx: t.Context(), entries: more, reply: make(chan reply, 1)}
	r := &request{ctx: t.Context(), remove: []string{"item 00005"}, reply: make(chan reply, 1)}
	x.w.write([]*request{a, r}) // as its goroutine does
	if got := <-a.reply; !errors.Is(got.err, syscall.ENOSPC) {
		t.Errorf("added: %+v", got)
	}
	if got := <-r.reply; got.err != nil || got.removed != 1 {
		t.Errorf("removed: %+v", got)
	}
	full.Store(false)
	if in := x.Info(); in.Items != 18 {
		t.Errorf("%d items", in.Items)
	}
	if c, err := Check(t.Context(), dir, CheckOptions{}); err != nil || len(c.Problems) > 0 || c.Items != 18 {
		t.Errorf("%v, %+v", err, c)
	}
}
