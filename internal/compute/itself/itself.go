// Package itself has the rule that tells which items of a gallery are the query itself, for all commands and the
// server: by their content (digest, file, bytes of the file) where that is known of both, otherwise by an embedding
// that is equal in every bit. Pair is the same for two tables. Names alone and places in a list decide nothing.
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

// Evidence says whether the contents of a query and of an item are the same. known is false if it cannot tell.
type Evidence func() (same, known bool)

// Is reports whether an item is the query itself: by the first evidence that is known, otherwise by the bits of both
// embeddings.
func Is(query, item []float32, evidence ...Evidence) bool {
	for _, e := range evidence {
		if same, known := e(); known {
			return same
		}
	}
	return sameBits(query, item)
}

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

// HasFile reports whether the query is a file that exists.
func (q *Query) HasFile() bool { return q.info != nil }

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
// Evidence about their contents, such as digests, comes before their files.
func (q *Query) Is(path string, vector []float32, evidence ...Evidence) bool {
	return Is(q.vector, vector, append(evidence, func() (same, known bool) { return q.Has(path) })...)
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

// sameBits reports whether two embeddings are equal in every bit.
func sameBits(a, b []float32) bool {
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
