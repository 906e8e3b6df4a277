package powertest

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// statesByStep lists the states after each step, as text.
func statesByStep(d *Disk, more int) map[int][]string {
	out := make(map[int][]string)
	d.States(1, more, func(s *State) bool {
		var text []string
		for _, name := range slices.Sorted(maps.Keys(s.Files)) {
			text = append(text, fmt.Sprintf("%s=%s", name, s.Files[name]))
		}
		out[s.Steps] = append(out[s.Steps], strings.Join(text, " "))
		return true
	})
	return out
}

func checkStates(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A file written without a sync may exist in any part; a synced file exists whole.
func TestStatesOfAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	d := Record(t, dir)
	f, err := d.Files().Open(filepath.Join(dir, "old"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{1, 3} {
		if _, err := f.WriteAt([]byte("XY"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(2); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	d.CheckComplete()
	got := statesByStep(d, 0)
	checkStates(t, "before", got[0], "old=abc")
	checkStates(t, "two writes", got[2], "old=abc", "old=aXY", "old=abcXY", "old=aXYXY")
	checkStates(t, "synced", got[3], "old=aXYXY")
	checkStates(t, "cut", got[4], "old=aXYXY", "old=aX")
	// At random, writes arrive in part, with any bytes after the old content.
	torn := statesByStep(d, 300)[1]
	for _, want := range []string{"old=aXc", "old=aXY", "old=abc"} {
		if !slices.Contains(torn, want) {
			t.Errorf("never %q: %q", want, torn)
		}
	}
	for _, s := range torn {
		if !strings.HasPrefix(s, "old=a") || len(s) != len("old=abc") {
			t.Errorf("%q after a write of two bytes from the second on", s)
		}
	}
}

// A rename may be lost, or leave both names, but never removes both.
func TestStatesOfARename(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	d := Record(t, dir)
	err := d.Files().Write(filepath.Join(dir, "x"), func(w io.Writer) error {
		_, err := w.Write([]byte("new"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	d.CheckComplete()
	if d.Steps() != 5 { // create, write, sync, rename, names
		t.Fatalf("%+v", d.steps)
	}
	states := statesByStep(d, 50)
	for step, list := range states {
		for _, s := range list {
			either := strings.Contains(s, "x=old") || strings.Contains(s, "x=new")
			if step < 4 && !strings.HasSuffix(s, "x=old") || !either {
				t.Errorf("step %d: %q", step, s)
			}
		}
	}
	checkStates(t, "renamed and synced", states[5], "x=new")
	if n := len(states[4]); n != 4 { // nothing, the temporary name, the new one, both
		t.Errorf("%d states of a rename: %q", n, states[4])
	}
}

// The content of a folder exists if the folder's name does.
func TestStatesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	d := Record(t, dir)
	d.addStep(atomic.Step{Op: "mkdir", Path: filepath.Join(dir, "a")})
	d.addStep(atomic.Step{Op: "create", Path: filepath.Join(dir, "a", "x")})
	d.addStep(atomic.Step{Op: "names", Path: filepath.Join(dir, "a")})
	d.addStep(atomic.Step{Op: "names", Path: dir})
	d.addStep(atomic.Step{Op: "create", Path: filepath.Join(filepath.Dir(dir), "outside")})
	got := statesByStep(d, 0)
	checkStates(t, "its own names synced", got[3], "", "a/= a/x=")
	checkStates(t, "all synced", got[4], "a/= a/x=")
	if d.Steps() != 4 {
		t.Errorf("%d steps", d.Steps())
	}
}

func TestState(t *testing.T) {
	dir := t.TempDir()
	s := &State{Files: map[string][]byte{"a/b": []byte("1"), "c": nil, "empty/": nil}}
	s.Write(t, dir)
	if st, err := os.Stat(filepath.Join(dir, "empty")); err != nil || !st.IsDir() {
		t.Error(st, err)
	}
	if got := readFiles(t, dir); len(got) != 2 || string(got["a/b"]) != "1" {
		t.Errorf("%q", got)
	}
	other := &State{Files: map[string][]byte{"a/b": []byte("1"), "d": nil}}
	if s.Sum() == other.Sum() {
		t.Error("two states with one sum")
	}
}
