package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"

	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/app/mirror"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/compute/itself"
	"github.com/kindred-ml/kindred/store"
)

// found searches. If the request says so, it leaves out items that are the query itself, and returns
// their ids.
func (s *Server) found(ctx context.Context, a *asked, q store.Query) (hits []store.Hit, same []string, err error) {
	if !a.ExceptItself {
		hits, err = s.nearest(ctx, a, q)
		return hits, nil, err
	}
	q.Vectors = true
	return lookup.Others(ctx, q.K, s.limits.K, func(k int) ([]store.Hit, error) {
		q.K = k
		return s.nearest(ctx, a, q)
	}, a.is)
}

// is reports whether an item is the query itself, as package itself says. An item whose file was replaced since is of
// the older content.
func (a *asked) is(h *store.Hit) bool {
	if a.item != nil && a.item.ID == h.ID {
		return true
	}
	return itself.Is(a.Vector, h.Vector, func() (same, known bool) { return a.embedded(h) },
		func() (same, known bool) { return a.sameFile(h) })
}

// sameFile compares the query's file or picture with an item's file.
func (a *asked) sameFile(h *store.Hit) (same, known bool) {
	mine, mySize := a.file()
	if mine == nil {
		return false, false
	}
	defer mine.Close()
	its, size := sized(a.collection.openFile(h.Path))
	if its == nil {
		return false, false
	}
	defer its.Close()
	return size == mySize && regular.SameContent(mine, its), true
}

// embedded reports whether an item's embedding is of the query's content, as far as digests are known.
func (a *asked) embedded(h *store.Hit) (same, known bool) {
	region := mirror.Region(h.Columns)
	switch {
	case a.picture != nil && region != "", a.item != nil && region != mirror.Region(a.item.Columns):
		return false, true // a part of the picture is another item
	case a.picture != nil:
		if a.sum == nil {
			sum := sha256.Sum256(a.picture)
			a.sum = &sum
		}
		return mirror.Embedded(h.Columns, *a.sum)
	case a.item != nil:
		of, its := a.item.Columns[mirror.Digest], h.Columns[mirror.Digest]
		return of != nil && of == its, of != nil && its != nil
	}
	return false, false
}

// file returns the picture of the query: the picture in the request, or that of the item; nil without a
// picture.
func (a *asked) file() (io.ReadCloser, int64) {
	switch {
	case a.picture != nil:
		return io.NopCloser(bytes.NewReader(a.picture)), int64(len(a.picture))
	case a.item != nil:
		return sized(a.collection.openFile(a.item.Path))
	}
	return nil, 0
}

// sized returns a regular file with its size.
func sized(f *os.File) (io.ReadCloser, int64) {
	if f == nil {
		return nil, 0
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0
	}
	return f, info.Size()
}
