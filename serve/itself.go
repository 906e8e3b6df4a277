package serve

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/store"
)

// spare is how many more items than wanted are asked for at first, because some may turn out
// to be the query.
const spare = 8

// found searches. Where the request says so, items that are the query itself are left out, and
// their ids returned.
func (s *Server) found(ctx context.Context, a *asked, q store.Query) (hits []store.Hit, itself []string, err error) {
	if !a.ExceptItself {
		hits, err = s.nearest(ctx, a, q)
		return hits, nil, err
	}
	// Where many items are the query, more of them are asked for, up to what a request may have.
	want := q.K
	q.Vectors = true
	for wide := spare; ; wide *= 8 {
		q.K = want + min(wide, s.limits.K)
		if hits, err = s.nearest(ctx, a, q); err != nil {
			return nil, nil, err
		}
		all := len(hits)
		itself = nil
		hits = slices.DeleteFunc(hits, func(h store.Hit) bool {
			if ctx.Err() != nil || !a.is(&h) {
				return false
			}
			itself = append(itself, h.ID)
			return true
		})
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if len(hits) >= want || all < q.K || wide >= s.limits.K {
			return hits[:min(want, len(hits))], itself, nil
		}
	}
}

// is tells whether an item is the query: its file has the same content or, where one of both
// has no file here, its vector the same bits.
func (a *asked) is(h *store.Hit) bool {
	mine, mySize := a.file()
	if mine == nil {
		return sameBits(a.Vector, h.Vector)
	}
	defer mine.Close()
	its, size := sized(a.collection.openFile(h.Path))
	if its == nil {
		return sameBits(a.Vector, h.Vector)
	}
	defer its.Close()
	return size == mySize && regular.SameContent(mine, its)
}

// file is the picture that was asked with: the one sent, or that of the item. It is nil where
// there is none.
func (a *asked) file() (io.ReadCloser, int64) {
	switch {
	case a.picture != nil:
		return io.NopCloser(bytes.NewReader(a.picture)), int64(len(a.picture))
	case a.item != nil:
		return sized(a.collection.openFile(a.item.Path))
	}
	return nil, 0
}

// sized is a file, if it is one, with its size.
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

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
