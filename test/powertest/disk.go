// Package powertest is for tests of what has to outlive a loss of power: it records what a
// program does to a folder through package atomic, and makes the folders that the disk may
// hold if the machine stops after any of these steps.
//
// What was synced is there: the content of a file up to its last sync, and the names in a
// folder up to the folder's. Of what was done since, the disk may hold any part in any
// order. A name was made or removed, or not; of a rename there may be the new name beside
// the old one. A write arrived, or did not, or arrived in part, sectors of it or its first
// bytes; where it made the file longer there may also be zeros or noise. A file may have
// been cut, or not. A file whose name was not synced may be there without its content.
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

// Disk records what is done to a folder.
type Disk struct {
	t     testing.TB
	dir   string
	mu    sync.Mutex
	begin map[string][]byte // what was there, durably, when recording began
	steps []atomic.Step     // with paths below the folder
}

// Record begins to record what is done to a folder, which must be there. What it holds now
// is durable.
func Record(t testing.TB, dir string) *Disk {
	t.Helper()
	return &Disk{t: t, dir: dir, begin: read(t, dir)}
}

// Files is the way to write that is recorded.
func (d *Disk) Files() atomic.Files { return atomic.Files{Trace: d.note} }

func (d *Disk) note(s atomic.Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Path = d.below(s.Path); s.Path == "" {
		return
	}
	if s.Op == "rename" {
		s.To = d.below(s.To)
	}
	s.Data = bytes.Clone(s.Data)
	d.steps = append(d.steps, s)
}

// below is a path as seen from the folder, with slashes, "" for one that is not in it.
func (d *Disk) below(name string) string {
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

// Complete fails the test unless the steps explain what is in the folder now, but for
// locks: a change that was not recorded is one that no state shows.
func (d *Disk) Complete() {
	d.t.Helper()
	v := newVolume(d.begin)
	for _, s := range d.steps {
		v.apply(s)
	}
	want, got := v.state(everything{}), read(d.t, d.dir)
	for name, b := range got {
		if w, ok := want[name]; ok && !bytes.Equal(b, w) {
			d.t.Errorf("%s is not as the %d steps have it: %d bytes, want %d", name, len(d.steps), len(b), len(w))
		} else if !ok && path.Base(name) != lock.FileName {
			d.t.Errorf("%s is there by no recorded step", name)
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok && !strings.HasSuffix(name, "/") {
			d.t.Errorf("%s was removed by no recorded step", name)
		}
	}
}

// read reads the files below a folder.
func read(t testing.TB, dir string) map[string][]byte {
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
