package tree

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// FS is the tree of an fs.FS: files in the program, in memory, or in another kind of archive.
type FS struct {
	files fs.FS
	name  string
}

// NewFS returns the tree of a file system.
func NewFS(files fs.FS, name string) FS { return FS{files: files, name: name} }

func (s FS) Location() string { return s.name }

func (s FS) Has(name string) bool {
	info, err := fs.Stat(s.files, name)
	return err == nil && info.Mode().IsRegular()
}

func (s FS) Walk(ctx context.Context, fn func(name, why string) error) error {
	return fs.WalkDir(s.files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return WithName(s.name+"/"+name, err)
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", s.name, ctx.Err())
		case name == ".":
			return nil
		case IsInSystemFolder(name):
			if e.Type().IsRegular() && IsImageName(name) {
				return fn(name, InSystemFolder)
			}
			return nil
		case IsHidden(e.Name()) && e.IsDir() && !isSystemFolder(e.Name()):
			return fs.SkipDir
		case IsHidden(e.Name()) || e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fn(name, fileinfo.KindOf(e.Type()))
		}
		return fn(name, "")
	})
}

func (s FS) Read(name string, _ []byte) ([]byte, error) {
	full := s.name + "/" + name
	f, err := s.files.Open(name)
	if err != nil {
		return nil, WithName(s.name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, WithName(full, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &fileinfo.NotRegularError{Path: full, Mode: info.Mode()}
	}
	if h, ok := info.Sys().(*zip.FileHeader); ok && (h.Method == zip.Store || h.Method == zip.Deflate) {
		b, err := readEntry(full, h, f, nil)
		return b, WithName(full, err)
	}
	b, err := budget.ReadN(full, f, info.Size())
	if err == nil {
		err = checkEnd(f, info.Size())
	}
	return b, WithName(full, err)
}

// checkEnd returns an error unless r ends after the announced size. Reading to the end also makes an
// archive check its content.
func checkEnd(r io.Reader, size int64) error {
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

func (s FS) Digest(name string, buf []byte) (string, []byte, error) {
	// A file system may know the digest without reading. An empty digest means that it does not.
	if known, ok := s.files.(interface {
		Digest(name string) (string, error)
	}); ok {
		sum, err := known.Digest(name)
		if sum != "" || err != nil {
			return sum, buf, WithName(s.name, err)
		}
	}
	b, err := s.Read(name, nil)
	if err != nil {
		return "", buf, err
	}
	return SHA256Hex(b), buf, nil
}

// SHA256Hex returns the SHA-256 of b.
func SHA256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (s FS) Stat(name string) Stat {
	info, err := fs.Stat(s.files, name)
	if err != nil {
		return Stat{Err: err}
	}
	return Stat{Size: info.Size(), Modified: info.ModTime()}
}
