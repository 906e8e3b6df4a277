//go:build unix

package fileinfo

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
		var e *NotRegularError
		if !errors.As(err, &e) || err.Error() != path+": "+want+", not a regular file" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open(at("none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), at("none")) {
		t.Errorf("%v", err)
	}
}

func TestOpenIn(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	if err := errors.Join(
		os.Mkdir(inner, 0o755), os.WriteFile(filepath.Join(dir, "outside"), []byte("x"), 0o644),
		os.WriteFile(filepath.Join(inner, "file"), []byte("x"), 0o644),
		syscall.Mkfifo(filepath.Join(inner, "pipe"), 0o644),
		os.Symlink("file", filepath.Join(inner, "to-file")), os.Symlink("../outside", filepath.Join(inner, "out")),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inner)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"file", "to-file"} {
		f, err := OpenIn(root, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.Close()
	}
	var e *NotRegularError
	if _, err := OpenIn(root, "pipe"); !errors.As(err, &e) || err.Error() != "pipe: a named pipe, not a regular file" {
		t.Errorf("pipe: %v", err)
	}
	for _, name := range []string{"out", "../outside", filepath.Join(dir, "outside")} {
		if f, err := OpenIn(root, name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}
