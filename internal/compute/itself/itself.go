// Package itself tells which items of a gallery are the query: the same file, a copy of it, or, where one of both has
// no file, an embedding that is equal in every bit.
package itself

import (
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/regular"
)

// Query is a photo that items are compared with.
type Query struct {
	vector []float32
	path   string
	info   os.FileInfo // nil if there is no such file
}

// New is a query with an embedding and the path of its file, "" if it has none or it is not known.
func New(path string, vector []float32) *Query { return &Query{vector, path, regularInfo(path)} }

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
	info := regularInfo(path)
	switch {
	case q.info == nil || info == nil:
		return SameBits(q.vector, vector)
	case os.SameFile(q.info, info):
		return true
	}
	return q.info.Size() == info.Size() && sameContent(q.path, path)
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
