package budget

import (
	"io"
	"slices"
)

// Reader returns a reader of r that fails with an *Error once r has given more
// bytes than the limit. Use it for every decompressor whose result is kept.
func Reader(what string, r io.Reader) io.Reader {
	l := Limit()
	return &reader{r: r, what: what, limit: l, left: l}
}

type reader struct {
	r           io.Reader
	what        string
	limit, left int64
}

func (r *reader) Read(p []byte) (int, error) {
	// One byte more than is left tells a stream that ends at the limit from one
	// that goes on.
	if int64(len(p))-1 > r.left {
		p = p[:r.left+1]
	}
	n, err := r.r.Read(p)
	if int64(n) > r.left {
		n = int(r.left)
		err = &Error{What: r.what, Limit: r.limit}
	}
	r.left -= int64(n)
	return n, err
}

// firstPiece is how much ReadN takes before any byte came.
const firstPiece = 1 << 20

// ReadN reads exactly n bytes from r. n may come from the file: it is checked
// against the limit, and memory grows with the bytes read, to at most twice
// their number and 1 MiB. A stream that ends early gives its bytes and
// io.ErrUnexpectedEOF, as io.ReadFull does (io.EOF if it was empty).
func ReadN(what string, r io.Reader, n int64) ([]byte, error) {
	if err := Check(what, n); err != nil {
		return nil, err
	}
	var b []byte
	for int64(len(b)) < n {
		have := len(b)
		piece := min(n-int64(have), max(int64(have), firstPiece))
		b = slices.Grow(b, int(piece))[:have+int(piece)]
		got, err := io.ReadFull(r, b[have:])
		if err != nil {
			b = b[:have+got]
			if err == io.EOF && len(b) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return b, err
		}
	}
	return b, nil
}
