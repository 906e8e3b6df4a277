package fileinfo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"
)

// TestState: a file that was not touched keeps its state. Another one in its place, and the same one
// with another content, have another state, although size and time are those of the first.
func TestState(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "g")
	when := time.Unix(1_000_000_000, 0)
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return State(info)
	}
	write(path, "one")
	first := state()
	if again := state(); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if err := os.Chtimes(path, when, when.Add(1)); err != nil {
		t.Fatal(err)
	}
	if later := state(); later == first && runtime.GOOS != "windows" { // its times are of 100 ns
		t.Errorf("another time is %s as well", later)
	}
	write(path, "three")
	if longer := state(); longer == first {
		t.Errorf("another size is %s as well", longer)
	}
	if runtime.GOOS == "windows" {
		return // size and time are all that is known
	}
	write(path, "one")
	first = state()
	write(other, "two")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	replaced := state()
	if replaced == first {
		t.Errorf("another file is %s as well", replaced)
	}
	// File systems count time by ticks: the last change is another one after the next of them.
	for end := time.Now().Add(10 * time.Second); state() == replaced; time.Sleep(time.Millisecond) {
		if write(path, "six"); time.Now().After(end) {
			t.Fatalf("another content is %s as well", replaced)
		}
	}
}

// Of a file that is none of the system's, size and time are all there is.
func TestStateElsewhere(t *testing.T) {
	in := fstest.MapFS{"f": {Data: []byte("x"), ModTime: time.Unix(5, 0)}}
	info, err := fs.Stat(in, "f")
	if err != nil {
		t.Fatal(err)
	}
	if s := State(info); s != "1 bytes of 1970-01-01T00:00:05Z" {
		t.Error(s)
	}
}
