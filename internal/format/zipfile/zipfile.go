// Package zipfile opens zip archives whose list of files may come from a stranger.
package zipfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// What a list takes in memory, with what its readers keep of it: for each file its header, its place in
// a table of names and its sample, and what is written of it several times over, since names are copied.
const (
	fileBytes  = 512
	listCopies = 4
)

// NewReader opens an archive, as zip.NewReader does. A list of files that needs more than the limit on
// memory is a *budget.Error before the memory is taken.
func NewReader(r io.ReaderAt, size int64) (*zip.Reader, error) {
	l := &listReader{r: r}
	if err := l.check(declaredFiles(r, size)); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(l, size)
	if err != nil {
		return nil, err
	}
	l.open.Store(true)
	return z, nil
}

// declaredFiles returns how many files the end of an archive says that there are, 0 if it cannot be read:
// archive/zip takes memory for so many at once where the archive is large enough, and a file with holes,
// or on a server, may claim any size.
func declaredFiles(r io.ReaderAt, size int64) uint64 {
	const (
		end, locator, end64 = 22, 20, 56      // bytes of the records, without the comment
		most                = end + 1<<16 - 1 // with it
		endMark, end64Mark  = "PK\x05\x06", "PK\x06\x06"
		locatorMark         = "PK\x06\x07"
	)
	tail := make([]byte, max(0, min(size, most+locator)))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0
	}
	for i := len(tail) - end; i >= 0; i-- {
		b := tail[i:]
		if !bytes.HasPrefix(b, []byte(endMark)) || end+int(binary.LittleEndian.Uint16(b[20:])) > len(b) {
			continue
		}
		n := uint64(binary.LittleEndian.Uint16(b[10:]))
		if i < locator || !bytes.HasPrefix(tail[i-locator:], []byte(locatorMark)) {
			return n
		}
		var record [end64]byte
		at := binary.LittleEndian.Uint64(tail[i-locator+8:])
		if at > uint64(size) {
			return n
		}
		if _, err := r.ReadAt(record[:], int64(at)); err != nil && err != io.EOF ||
			!bytes.HasPrefix(record[:], []byte(end64Mark)) {
			return n
		}
		return binary.LittleEndian.Uint64(record[32:])
	}
	return 0
}

// listReader is an archive that is opened. Until it is open it counts what the list of its files takes:
// the number of files that an archive announces need not be true.
type listReader struct {
	r     io.ReaderAt
	open  atomic.Bool
	files uint64
	bytes int64
}

// headerMark begins each file's header in the list.
var headerMark = []byte("PK\x01\x02")

func (l *listReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := l.r.ReadAt(p, off)
	if l.open.Load() {
		return n, err
	}
	l.files += uint64(bytes.Count(p[:n], headerMark))
	l.bytes += int64(n)
	var over *budget.Error
	if errors.As(l.check(l.files), &over) {
		over.Need = 0 // nobody knows how much more there is
		return 0, over
	}
	return n, err
}

func (l *listReader) check(files uint64) error {
	need := budget.Sum(budget.Product(int64(min(files, 1<<62)), fileBytes), budget.Product(l.bytes, listCopies))
	return budget.Check("the list of an archive's files", need)
}
