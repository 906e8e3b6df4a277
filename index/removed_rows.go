package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

// A dead file says which rows of a segment were removed, little-endian:
//
//	bytes     content
//	0   8     magic "kinddead"
//	8   4     rows of the segment
//	12  4     CRC-32C of the rows' number and what follows
//	16        a bit for each row that is there, in words of 64, low bits first
const (
	removedMagic  = "kinddead"
	removedHeader = 16
)

// writeRemoved writes which of n rows are not removed.
func writeRemoved(files atomic.Files, path string, n int, live bitmap) error {
	le := binary.LittleEndian
	b := append([]byte(removedMagic), make([]byte, 8)...)
	le.PutUint32(b[8:], uint32(n))
	for _, w := range live {
		b = le.AppendUint64(b, w)
	}
	le.PutUint32(b[12:], removedSum(b))
	return files.Write(path, atomic.Bytes(b))
}

func removedSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[8:12], castagnoli()), castagnoli(), b[removedHeader:])
}

// readRemoved reads which of n rows are not removed.
func readRemoved(f *os.File, n int) (bitmap, error) {
	path := f.Name()
	size := int64(removedHeader + 8*len(newBitmap(n)))
	b, err := budget.ReadN(path, io.NewSectionReader(f, 0, size), size)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	le := binary.LittleEndian
	switch {
	case err != nil || string(b[:8]) != removedMagic:
		return nil, &DamageError{path, fmt.Sprintf("its %d bytes are not a list of the rows of a segment", size)}
	case le.Uint32(b[8:]) != uint32(n):
		return nil, &DamageError{path, fmt.Sprintf("it belongs to a segment of %d rows: must be %d", le.Uint32(b[8:]),
			n)}
	case le.Uint32(b[12:]) != removedSum(b):
		return nil, &DamageError{path, "its checksum is wrong"}
	}
	live := bitmap(numbers[uint64](b[removedHeader:]))
	if live.and(fullBitmap(n)); len(live) == 0 {
		return nil, &DamageError{path, "it is empty"}
	}
	return live, nil
}

// load reads the segment that a manifest names, and its removals.
func (ref segmentRef) load(o *openFiles) (part, error) {
	f, err := o.takeSegment(ref.File)
	if err != nil {
		return part{}, err
	}
	s, err := readSegment(filepath.Join(o.dir, ref.File), f, o.m.Dim, o.m.Distance)
	if err != nil {
		return part{}, err
	}
	p := part{seg: s, live: s.allRows, removedFile: ref.RemovedFile}
	if s.n != ref.Rows {
		err = &DamageError{s.path, fmt.Sprintf("it has %d rows, but the manifest says %d", s.n, ref.Rows)}
	} else if ref.RemovedFile != "" {
		p.live, err = ref.liveRows(o, s.n)
	}
	if err != nil {
		s.file.Close()
		return part{}, err
	}
	p.numRemoved = s.n - p.live.count()
	p.numRecorded = p.numRemoved
	return p, nil
}

// liveRows reads which of n rows of the segment are not removed, if the manifest names a file of
// removals.
func (ref segmentRef) liveRows(o *openFiles, n int) (bitmap, error) {
	f, err := o.fileOf(ref.RemovedFile)
	if err != nil {
		return nil, err
	}
	return readRemoved(f, n)
}
