package fileinfo

import (
	"bytes"
	"errors"
	"io"
)

// SameContent compares two files from their current positions on. A file that cannot be read equals no
// other.
func SameContent(a, b io.Reader) bool {
	x, y := make([]byte, 16<<10), make([]byte, 16<<10)
	for {
		n, errX := io.ReadFull(a, x)
		m, errY := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if errX != nil || errY != nil {
			ended := func(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }
			return ended(errX) && ended(errY)
		}
	}
}
