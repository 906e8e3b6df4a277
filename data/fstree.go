package data

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// system is the tree of an fs.FS: files in the program, in memory, or in another kind of archive.
type system struct {
	files fs.FS
	name  string
}

func (s system) where() string { return s.name }

func (s system) has(name string) bool {
	info, err := fs.Stat(s.files, name)
	return err == nil && info.Mode().IsRegular()
}

func (s system) walk(ctx context.Context, fn func(name, why string) error) error {
	return fs.WalkDir(s.files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return named(s.name+"/"+name, err)
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", s.name, ctx.Err())
		case name == ".":
			return nil
		case amongLeavings(name):
			if e.Type().IsRegular() && isImageName(name) {
				return fn(name, inLeavings)
			}
			return nil
		case hidden(e.Name()) && e.IsDir() && !isLeavings(e.Name()):
			return fs.SkipDir
		case hidden(e.Name()) || e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fn(name, fileinfo.Kind(e.Type()))
		}
		return fn(name, "")
	})
}

func (s system) read(name string, _ []byte) ([]byte, error) {
	full := s.name + "/" + name
	f, err := s.files.Open(name)
	if err != nil {
		return nil, named(s.name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, named(full, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &fileinfo.Error{Path: full, Mode: info.Mode()}
	}
	if h, ok := info.Sys().(*zip.FileHeader); ok && (h.Method == zip.Store || h.Method == zip.Deflate) {
		b, err := readEntry(full, h, f, nil)
		return b, named(full, err)
	}
	b, err := budget.ReadN(full, f, info.Size())
	if err == nil {
		err = atEnd(f, info.Size())
	}
	return b, named(full, err)
}

// atEnd returns an error unless r ends after the announced size. Reading to the end also makes an
// archive check its content.
func atEnd(r io.Reader, size int64) error {
	var one [1]byte
	switch _, err := io.ReadFull(r, one[:]); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("the file has more than the announced %d bytes", size)
	default:
		return err
	}
}

func (s system) digest(name string, buf []byte) (string, []byte, error) {
	// A file system may know the digest without reading. An empty digest means that it does not.
	if known, ok := s.files.(interface {
		Digest(name string) (string, error)
	}); ok {
		sum, err := known.Digest(name)
		if sum != "" || err != nil {
			return sum, buf, named(s.name, err)
		}
	}
	b, err := s.read(name, nil)
	if err != nil {
		return "", buf, err
	}
	return sumOf(b), buf, nil
}

// sumOf returns the SHA-256 of b.
func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// OpenFS is Open for the data set in a file system, whose files are built into the program, in
// memory, or from any other source. name is the name of the set.
func OpenFS(ctx context.Context, files fs.FS, name string, opt OpenOptions) (*Dataset, error) {
	if files == nil {
		return nil, errors.New("no file system given")
	}
	d, err := openLayout(ctx, system{files, name}, name, opt)
	if err != nil {
		return nil, err
	}
	if err := d.legible(); err != nil {
		return nil, err
	}
	return d.opened(opt, nil)
}
