//go:build unix

package atomic

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUmask writes new files with the permissions that the umask leaves, from
// the first byte on.
func TestUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for _, mask := range []int{0o077, 0o022, 0o002, 0} {
		syscall.Umask(mask)
		dir := filepath.Join(t.TempDir(), "a", "b")
		if err := (Files{}).MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "f")
		want := os.FileMode(0o666 &^ mask)
		err := WriteFile(path, func(w io.Writer) error {
			st, err := w.(*os.File).Stat()
			if err == nil && st.Mode().Perm() != want {
				t.Errorf("umask %03o: mode %03o while it is written", mask, st.Mode().Perm())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range map[string]os.FileMode{path: want, dir: os.FileMode(0o777 &^ mask),
			filepath.Dir(dir): os.FileMode(0o777 &^ mask)} {
			st, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			if st.Mode().Perm() != want {
				t.Errorf("umask %03o: %s has mode %03o, want %03o", mask, filepath.Base(p), st.Mode().Perm(), want)
			}
		}
	}
}

// TestReplacedFileKeepsItsPermissions also where the umask would take them.
func TestReplacedFileKeepsItsPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	path := filepath.Join(t.TempDir(), "f")
	for _, mode := range []os.FileMode{0o600, 0o666, 0o755} {
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, write("new")); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != mode {
			t.Errorf("mode %v, %v; want %v", st.Mode(), err, mode)
		}
	}
}

// TestLinks replaces what a link names, not the link.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.MkdirAll(path("a/b"), 0o777),
		os.Symlink("a/b", path("folder")),
		os.Symlink("../target", path("a/b/up")), // a/target, through folder/up as well
		os.Symlink("folder/up", path("link")),
		os.Symlink("loop", path("loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, content := range []string{"one", "two"} { // the link dangles at first
		if err := WriteFile(path("link"), write(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path("a/target")); err != nil || string(got) != content {
			t.Errorf("the target holds %q, %v", got, err)
		}
		if st, err := os.Lstat(path("link")); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link became %v, %v", st.Mode(), err)
		}
	}
	if err := WriteFile(path("loop"), write("x")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
	if err := WriteFile(path("a"), write("x")); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
}

// TestPipesAndDevicesAreWrittenInto and stay what they are.
func TestPipesAndDevicesAreWrittenInto(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("fifo", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, link} {
		got := make(chan string)
		go func() {
			b, err := os.ReadFile(fifo)
			if err != nil {
				t.Error(err)
			}
			got <- string(b)
		}()
		if err := WriteFile(path, write("through")); err != nil {
			t.Fatal(err)
		}
		if s := <-got; s != "through" {
			t.Errorf("the reader got %q", s)
		}
		if st, err := os.Stat(fifo); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
			t.Errorf("the pipe became %v, %v", st.Mode(), err)
		}
	}
	// A pipe behind /dev/stdout is reached the same way.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	behind := filepath.Join(dir, "behind")
	if err := os.Symlink(filepath.Join("/dev/fd", fmt.Sprint(w.Fd())), behind); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(behind, write("x")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
	full := "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no /dev/full here")
	}
	if err := WriteFile(full, write("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full device: %v", err)
	}
	if st, err := os.Stat(full); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("the device became %v, %v", st.Mode(), err)
	}
}
