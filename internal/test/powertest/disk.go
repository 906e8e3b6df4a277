// Package powertest helps tests of files that must survive a loss of power. It records the
// changes that a program makes to a folder through package atomic, and makes the folders that
// the disk may hold if the machine stops after any of these steps.
//
// Synced changes are always there: the content of a file up to its last sync, and the names in
// a folder up to the folder's last sync. Of later changes, the disk may hold any part in any
// order. A name may have been made or removed, or not; after a rename both names may exist. A
// write may have arrived, or not, or in part: some of its sectors, or its first bytes. If the
// write made the file longer, zeros or noise may be in its place. A file may have been
// truncated, or not. A file whose name was not synced may exist without its content.
package powertest

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
)

// Disk records the changes of a folder.
type Disk struct {
	t     testing.TB
	dir   string
	mu    sync.Mutex
	begin map[string][]byte // the durable state when recording began
	steps []atomic.Step     // recorded steps, with paths below the folder
}

// Record begins to record the changes of a folder, which must exist. Its present content is
// durable.
func Record(t testing.TB, dir string) *Disk {
	t.Helper()
	return &Disk{t: t, dir: dir, begin: readFiles(t, dir)}
}

// Files returns the file system whose changes are recorded.
func (d *Disk) Files() atomic.Files { return atomic.Files{Trace: d.addStep} }

func (d *Disk) addStep(s atomic.Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Path = d.relativePath(s.Path); s.Path == "" {
		return
	}
	if s.Op == "rename" {
		s.To = d.relativePath(s.To)
	}
	s.Data = bytes.Clone(s.Data)
	d.steps = append(d.steps, s)
}

// relativePath returns a path relative to the folder, with slashes, or "" for a path outside it.
func (d *Disk) relativePath(name string) string {
	rel, err := filepath.Rel(d.dir, name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// Steps is the number of steps that were recorded.
func (d *Disk) Steps() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.steps)
}

// CheckComplete fails the test unless the steps explain the present content of the folder, except
// for locks. A change that was not recorded would be missing from all states.
func (d *Disk) CheckComplete() {
	d.t.Helper()
	v := newVolume(d.begin)
	for _, s := range d.steps {
		v.apply(s)
	}
	want, got := v.state(allChooser{}), readFiles(d.t, d.dir)
	for name, b := range got {
		if w, ok := want[name]; ok && !bytes.Equal(b, w) {
			d.t.Errorf("%s differs from the %d recorded steps: %d bytes, want %d", name, len(d.steps), len(b), len(w))
		} else if !ok && path.Base(name) != lock.FileName {
			d.t.Errorf("%s was made without a recorded step", name)
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok && !strings.HasSuffix(name, "/") {
			d.t.Errorf("%s was removed without a recorded step", name)
		}
	}
}

// readFiles reads the files below a folder.
func readFiles(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			out[name], err = os.ReadFile(filepath.Join(dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
