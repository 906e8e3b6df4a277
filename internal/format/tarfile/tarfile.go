// Package tarfile lists the members of tar files with the places of their contents, so that
// any member can be read alone: tar stores contents as they are, in whole blocks of 512
// bytes, each behind a header that says how long it is.
package tarfile

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
)

// Member is a regular file in a tar file. Its content is the Size bytes from Offset.
type Member struct {
	Name         string
	Offset, Size int64
}

// Block is the unit of tar files in bytes.
const Block = 512

// Walk calls fn for the regular files in the size bytes of r, in their order, until ctx ends.
// Folders, links and devices are passed over. marked tells whether the mark stands at the
// end that tar writes there: a file without it may have been cut off between two members.
//
// An error names the last member that was whole, and what is wrong behind it: a header that
// is damaged, a member that is cut off, or one that is stored with holes (GNU's
// sparse files), whose bytes do not stand in one piece.
func Walk(ctx context.Context, r io.ReaderAt, size int64, fn func(Member) error) (marked bool, err error) {
	s := io.NewSectionReader(r, 0, size)
	t := tar.NewReader(s)
	last, end := "", int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		h, err := nextHeader(t)
		if errors.Is(err, io.EOF) {
			return checkEnd(r, end, size, last)
		}
		if err != nil {
			return false, damageError(last, end, err)
		}
		at, _ := s.Seek(0, io.SeekCurrent) // a section can always say it
		if h.Typeflag != tar.TypeReg {
			end = at
			continue
		}
		if h.PAXRecords["GNU.sparse.map"] != "" || h.PAXRecords["GNU.sparse.major"] != "" {
			return false, damageError(last, end,
				fmt.Errorf("%q is stored as a sparse file: pack the files without --sparse",
					h.Name))
		}
		if h.Size > size-at {
			return false, fmt.Errorf("truncated: %q has %d of its %d bytes", h.Name, size-at, h.Size)
		}
		if err := fn(Member{h.Name, at, h.Size}); err != nil {
			return false, err
		}
		last, end = h.Name, min(size, at+(h.Size+Block-1)/Block*Block)
	}
}

// checkEnd reports whether a block of zeros follows the last member. Headers whose beginning the
// library saw are not an ending.
func checkEnd(r io.ReaderAt, end, size int64, last string) (marked bool, err error) {
	if end >= size {
		return false, nil
	}
	var block [Block]byte
	n, err := r.ReadAt(block[:], end)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if n < Block || block != [Block]byte{} {
		return false, damageError(last, end, errors.New("truncated within a header"))
	}
	return true, nil
}

// nextHeader reads the next header. The old kind of sparse files is known by its type alone.
func nextHeader(t *tar.Reader) (*tar.Header, error) {
	h, err := t.Next()
	if err == nil && h.Typeflag == tar.TypeGNUSparse {
		return nil, fmt.Errorf("%q is stored as a sparse file: pack the files without --sparse", h.Name)
	}
	return h, err
}

// damageError says behind which member, or from which byte, the file is damaged.
func damageError(last string, at int64, err error) error {
	if last == "" {
		return fmt.Errorf("damaged at its first member: %w", err)
	}
	return fmt.Errorf("damaged after the member %q, from byte %d: %w", last, at, err)
}
