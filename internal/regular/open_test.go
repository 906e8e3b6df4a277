//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Mkfifo(at("pipe"), 0o644), os.Symlink("pipe", at("to-pipe")),
		os.Symlink("file", at("to-file"))); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "s") // the path of a socket is at most 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{"file", "to-file"} {
		f, err := Open(at(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var b [2]byte
		if n, _ := f.Read(b[:]); n != 1 {
			t.Errorf("%s: read %d bytes", name, n)
		}
		f.Close()
	}
	for path, want := range map[string]string{
		dir: "a folder", at("pipe"): "a named pipe", at("to-pipe"): "a named pipe",
		os.DevNull: "a device", filepath.Join(short, "s"): "a socket",
	} {
		_, err := Open(path)
		var e *Error
		if !errors.As(err, &e) || err.Error() != path+": "+want+", not a regular file" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open(at("none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), at("none")) {
		t.Errorf("%v", err)
	}
}
