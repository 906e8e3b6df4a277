package atomic

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"one", "second"} {
		if err := WriteFile(path, write(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("read %q, %v", got, err)
		}
	}
}

func TestFailedWriteKeepsTheOldFileAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, write("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	err := WriteFile(path, func(w io.Writer) error {
		io.WriteString(w, "half of the n")
		return full
	})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v must wrap the cause and name the file", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("old content lost: %q", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteFileToAMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "f")
	if err := WriteFile(path, write("x")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("cannot open /dev/full")
	}
	defer f.Close()
	path := filepath.Join(t.TempDir(), "f")
	err = WriteFile(path, func(io.Writer) error { _, err := f.WriteString("x"); return err })
	if err == nil {
		t.Fatal("writing to a full device must fail")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file appeared: %v", err)
	}
}

// TestFaultBeforeEveryStep fails every step of a write in turn: the old content
// stays and nothing is left behind.
func TestFaultBeforeEveryStep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, write("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	var steps []string
	for n := 0; ; n++ {
		steps = nil
		err := Files{Fault: func(op, _ string) error {
			if steps = append(steps, op); len(steps) == n+1 {
				return full
			}
			return nil
		}}.Write(path, write("new"))
		if err == nil {
			break
		}
		if got, _ := os.ReadFile(path); !errors.Is(err, full) || string(got) != "old" {
			t.Errorf("%v failed: %v, and the file holds %q", steps, err, got)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("%v failed and left %v", steps, left)
		}
	}
	if want := "create write sync rename"; strings.Join(steps, " ") != want {
		t.Errorf("the steps are %v, want %s", steps, want)
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := WriteFile(path, write("x")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what is not there is removed
		if err := (Files{}).Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}
