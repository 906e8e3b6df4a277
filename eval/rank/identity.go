package rank

import (
	"math"
	"os"

	"github.com/kindred-ml/kindred/internal/base/regular"
)

// asked is the photo that is asked with.
type asked struct {
	x     []float32
	path  string
	place string      // its whole path
	info  os.FileInfo // nil if there is no such file
}

func newAsked(s *Photos, i int) *asked {
	q := &asked{x: s.X.Row(i), path: s.path(i)}
	q.place = place(q.path)
	q.info = regularInfo(q.path)
	return q
}

// regularInfo is what the system tells of a file, nil of what is none.
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

// is tells whether item j is the query itself.
func (q *asked) is(gallery *Photos, j int) bool {
	path := gallery.path(j)
	info := regularInfo(path)
	switch {
	case q.info == nil || info == nil:
		return sameBits(q.x, gallery.X.Row(j))
	case os.SameFile(q.info, info):
		return true
	}
	return q.info.Size() == info.Size() && sameContent(q.path, path)
}

func sameBits(a, b []float32) bool {
	for i, v := range a {
		if math.Float32bits(v) != math.Float32bits(b[i]) {
			return false
		}
	}
	return true
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
