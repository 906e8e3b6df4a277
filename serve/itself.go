package serve

import (
	"bytes"
	"context"
	"io"
	"os"

	"github.com/kindred-ml/kindred/app/gallery"
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
	return gallery.Others(ctx, q.K, s.limits.K, func(k int) ([]store.Hit, error) {
		q.K = k
		return s.nearest(ctx, a, q)
	}, a.is)
}

// is reports whether an item is the query: its file has the same content or, if one of them has no
// file here, its vector has the same bits.
func (a *asked) is(h *store.Hit) bool {
	mine, mySize := a.file()
	if mine == nil {
		return itself.SameBits(a.Vector, h.Vector)
	}
	defer mine.Close()
	its, size := sized(a.collection.openFile(h.Path))
	if its == nil {
		return itself.SameBits(a.Vector, h.Vector)
	}
	defer its.Close()
	return size == mySize && regular.SameContent(mine, its)
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
