package budget

import (
	"fmt"
	"io"
	"slices"
)

// ReadAll reads all of r, as io.ReadAll does. It fails with an *Error once that needs more than
// the limit. The bytes are in memory twice while they are joined, so a stream may have half
// the limit.
func ReadAll(what string, r io.Reader) ([]byte, error) {
	l := Limit()
	r = &reader{r: r, what: what, limit: l, left: l / 2}
	var pieces [][]byte
	for size := 64 << 10; ; size = min(2*size, 16<<20) {
		piece := make([]byte, size)
		n, err := io.ReadFull(r, piece)
		pieces = append(pieces, piece[:n])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return slices.Concat(pieces...), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ReadAtMost reads all of r, which must have at most that many bytes: the size of the largest file
// of its kind that makes sense. what names the kind in the error: "a calibration".
func ReadAtMost(what string, r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = &TooLargeError{What: what, Most: most}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// TooLargeError says that something is larger than anything of its kind should be.
type TooLargeError struct {
	What string // the kind: a calibration
	Most int64  // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has at most %s, and this is more: it is damaged or something else", e.What, Format(e.Most))
}

// Reader returns a reader of r that fails with an *Error once r has given more
// bytes than the limit. Use it for streams that are not kept in memory; use ReadAll for the others.
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
// against the limit, and memory for all of them is taken when an eighth has come,
// or 1 MiB. A stream that ends early gives its bytes and io.ErrUnexpectedEOF, as
// io.ReadFull does (io.EOF if it was empty).
func ReadN(what string, r io.Reader, n int64) ([]byte, error) {
	if err := Check(what, n); err != nil {
		return nil, err
	}
	var b []byte
	for int64(len(b)) < n {
		have := int64(len(b))
		more := min(n-have, max(have, firstPiece))
		if have >= n/8 {
			more = n - have
		}
		whole := make([]byte, have+more)
		copy(whole, b)
		got, err := io.ReadFull(r, whole[have:])
		b = whole[:have+int64(got)]
		if err == io.EOF && len(b) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
