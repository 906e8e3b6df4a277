// Package selfmatch has the rule that tells which items of a gallery are the query itself, for all commands and the
// server: by their content (digest, file, bytes of the file) where that is known of both, otherwise by an embedding
// that is equal in every bit. Pair is the same for two tables. Names alone and places in a list decide nothing.
package selfmatch

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Evidence says whether the contents of a query and of an item are the same. known is false if it cannot tell.
type Evidence func() (same, known bool)

// IsSame reports whether an item is the query itself: by the first evidence that is known, otherwise by the
// bits of both embeddings.
func IsSame(query, item []float32, evidence ...Evidence) bool {
	for _, e := range evidence {
		if same, known := e(); known {
			return same
		}
	}
	return sameBits(query, item)
}

// Files opens the regular file of an item. It returns nil if there is none, or if it may not be read.
type Files func(path string) *os.File

// Query is a photo that items are compared with.
type Query struct {
	vector []float32
	info   os.FileInfo                   // of its file; nil without one
	size   int64                         // of its content
	open   func() (io.ReadCloser, error) // nil: the content is not known
	files  Files                         // opens the files of items; nil: any regular file
	digest func() ([sha256.Size]byte, bool)
}

// New is a query with an embedding and the path of its file, "" if it has none or it is not known.
func New(path string, vector []float32) *Query {
	q := &Query{vector: vector, info: regularInfo(path)}
	if q.info != nil {
		q.size, q.open = q.info.Size(), func() (io.ReadCloser, error) { return fileinfo.Open(path) }
	}
	q.digest = sync.OnceValues(q.read)
	return q
}

// NewContent is a query with an embedding and the content of a picture that is not a file here. files opens the files
// of the items.
func NewContent(content []byte, vector []float32, files Files) *Query {
	q := &Query{vector: vector, size: int64(len(content)), files: files}
	q.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	q.digest = sync.OnceValues(q.read)
	return q
}

// NewItem is a query that is itself an item with an embedding and the path of its file. files opens its file, and those
// of the other items.
func NewItem(path string, vector []float32, files Files) *Query {
	if files == nil {
		return New(path, vector)
	}
	q := &Query{vector: vector, files: files}
	if f := files(path); f != nil {
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			q.info, q.size = info, info.Size()
			q.open = func() (io.ReadCloser, error) { return checkOpened(files(path)) }
		}
	}
	q.digest = sync.OnceValues(q.read)
	return q
}

// checkOpened returns a file, or an error if there is none.
func checkOpened(f *os.File) (io.ReadCloser, error) {
	if f == nil {
		return nil, os.ErrNotExist
	}
	return f, nil
}

// HasContent reports whether the content of the query is known: its file exists, or its picture was given.
func (q *Query) HasContent() bool { return q.open != nil }

// Digest returns the SHA-256 of the query's content, or false if it cannot be read.
func (q *Query) Digest() (sum [sha256.Size]byte, ok bool) { return q.digest() }

func (q *Query) read() (sum [sha256.Size]byte, ok bool) {
	if q.open == nil {
		return sum, false
	}
	f, err := q.open()
	if err != nil {
		return sum, false
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, false
	}
	return [sha256.Size]byte(h.Sum(nil)), true
}

// regularInfo returns the system's information on a file, or nil for anything else.
func regularInfo(path string) os.FileInfo {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// IsItem reports whether the item with a path and an embedding is the query itself.
// Evidence about their contents, such as digests, comes before their files.
func (q *Query) IsItem(path string, vector []float32, evidence ...Evidence) bool {
	return IsSame(q.vector, vector, append(evidence, func() (same, known bool) { return q.HasSameContent(path) })...)
}

// HasSameContent reports whether the file at a path is the query's file or has the same content. known is
// false if one of both does not exist.
func (q *Query) HasSameContent(path string) (same, known bool) {
	if q.open == nil {
		return false, false
	}
	if q.files != nil {
		f := q.files(path)
		if f == nil {
			return false, false
		}
		defer f.Close()
		info, err := f.Stat()
		return err == nil && info.Size() == q.size && q.hasContent(f), err == nil
	}
	info := regularInfo(path)
	switch {
	case info == nil:
		return false, false
	case os.SameFile(q.info, info):
		return true, true
	case q.size != info.Size():
		return false, true
	}
	f, err := fileinfo.Open(path)
	if err != nil {
		return false, true // one that cannot be read is no copy
	}
	defer f.Close()
	return q.hasContent(f), true
}

// hasContent compares a file with the query's content byte by byte.
func (q *Query) hasContent(f *os.File) bool {
	mine, err := q.open()
	if err != nil {
		return false
	}
	defer mine.Close()
	return fileinfo.SameContent(mine, f)
}

// sameBits reports whether two embeddings are equal in every bit.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// AbsPath is the whole path of a file, "" of none.
func AbsPath(path string) string {
	if path == "" {
		return ""
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return abs
}
