package download

import (
	"context"
	"io"
)

// Stoppable is r until ctx ends: then reading is ctx's error.
func Stoppable(ctx context.Context, r io.Reader) io.Reader { return stoppable{ctx, r} }

type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}
