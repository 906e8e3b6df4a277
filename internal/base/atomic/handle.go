package atomic

import (
	"os"

	"github.com/kindred-ml/kindred/internal/base/lock"
)

// Step is a change that was made in the file system. Tests replay steps to simulate a
// loss of power.
type Step struct {
	// Op is create, write, truncate, sync, rename, remove, mkdir or, for a folder whose
	// names are made durable, names.
	Op   string
	Path string
	To   string // of a rename
	// At is the offset of a write, or the size to which a file is truncated.
	At   int64
	Data []byte // of a write; the caller's, to be copied
}

func (files Files) trace(s Step) {
	if files.Trace != nil {
		files.Trace(s)
	}
}

// File is a file that is changed in place, with Fault before and Trace after each
// change.
type File struct {
	f     *os.File
	files Files
	at    int64 // of the next Write
}

// Create makes a file, readable and writable. It must not exist.
func (files Files) Create(path string) (*File, error) {
	if err := files.fault("create", path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	files.trace(Step{Op: "create", Path: path})
	return &File{f: f, files: files}, nil
}

// Open opens an existing file, readable and writable.
func (files Files) Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &File{f: f, files: files}, nil
}

// Lock locks the file for this process until it is closed; see lock.File.
func (f *File) Lock() (bool, error) { return lock.File(f.f) }

// Stat describes the file.
func (f *File) Stat() (os.FileInfo, error) { return f.f.Stat() }

// Name is the path that the file was opened by.
func (f *File) Name() string { return f.f.Name() }

// Close frees the file, durable or not.
func (f *File) Close() error { return f.f.Close() }

// WriteAt writes b from a byte on.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if err := f.files.fault("write", f.f.Name()); err != nil {
		return 0, err
	}
	n, err := f.f.WriteAt(b, at)
	if n > 0 {
		f.files.trace(Step{Op: "write", Path: f.f.Name(), At: at, Data: b[:n]})
	}
	return n, err
}

// Write writes b after the bytes written before.
func (f *File) Write(b []byte) (int, error) {
	if err := f.files.fault("write", f.f.Name()); err != nil {
		return 0, err
	}
	n, err := f.f.Write(b)
	if n > 0 {
		f.files.trace(Step{Op: "write", Path: f.f.Name(), At: f.at, Data: b[:n]})
		f.at += int64(n)
	}
	return n, err
}

// Truncate cuts the file to a size. It does not call Fault, since it undoes failed
// changes.
func (f *File) Truncate(size int64) error {
	err := f.f.Truncate(size)
	if err == nil {
		f.files.trace(Step{Op: "truncate", Path: f.f.Name(), At: size})
	}
	return err
}

// Sync makes the written bytes durable.
func (f *File) Sync() error {
	if err := f.files.fault("sync", f.f.Name()); err != nil {
		return err
	}
	return f.files.sync(f.f)
}

func (files Files) sync(f *os.File) error {
	if files.Trace == nil {
		return f.Sync()
	}
	files.Trace(Step{Op: "sync", Path: f.Name()})
	return nil
}

// SyncFolder makes the names in a folder durable.
func (files Files) SyncFolder(dir string) error {
	if files.Trace == nil {
		return SyncFolder(dir)
	}
	files.Trace(Step{Op: "names", Path: dir})
	return nil
}

// unlink removes a file.
func (files Files) unlink(path string) error {
	err := os.Remove(path)
	if err == nil {
		files.trace(Step{Op: "remove", Path: path})
	}
	return err
}
