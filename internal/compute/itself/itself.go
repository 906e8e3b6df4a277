// Package itself tells which items of a gallery are the query: the same file, a copy of it, or, where one of both has
// no file, an embedding that is equal in every bit.
package itself

import (
	"crypto/sha256"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/regular"
)

// Query is a photo that items are compared with.
type Query struct {
	vector []float32
	path   string
	info   os.FileInfo // nil if there is no such file
	sum    func() ([sha256.Size]byte, bool)
}

// New is a query with an embedding and the path of its file, "" if it has none or it is not known.
func New(path string, vector []float32) *Query {
	q := &Query{vector: vector, path: path, info: regularInfo(path)}
	q.sum = sync.OnceValues(q.read)
	return q
}

// Sum returns the SHA-256 of the query's file, or false if it has no file that can be read.
func (q *Query) Sum() (sum [sha256.Size]byte, ok bool) { return q.sum() }

func (q *Query) read() (sum [sha256.Size]byte, ok bool) {
	if q.info == nil {
		return sum, false
	}
	f, err := regular.Open(q.path)
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

// Is reports whether the item with a path and an embedding is the query itself.
func (q *Query) Is(path string, vector []float32) bool {
	if same, known := q.Has(path); known {
		return same
	}
	return SameBits(q.vector, vector)
}

// Has reports whether the file at a path is the query's file or has the same content. known is false if one of both
// does not exist.
func (q *Query) Has(path string) (same, known bool) {
	info := regularInfo(path)
	if q.info == nil || info == nil {
		return false, false
	}
	return os.SameFile(q.info, info) || q.info.Size() == info.Size() && sameContent(q.path, path), true
}

// SameBits reports whether two embeddings are equal in every bit.
func SameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// sameContent compares two files byte by byte. One that cannot be read is no copy.
func sameContent(a, b string) bool {
	f, err := regular.Open(a)
	if err != nil {
		return false
	}
	defer f.Close()
	g, err := regular.Open(b)
	if err != nil {
		return false
	}
	defer g.Close()
	return regular.SameContent(f, g)
}

// Place is the whole path of a file, "" of none.
func Place(path string) string {
	if path == "" {
		return ""
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return abs
}
