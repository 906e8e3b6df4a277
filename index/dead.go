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
	deadMagic  = "kinddead"
	deadHeader = 16
)

// writeDead writes which of n rows are not removed.
func writeDead(files atomic.Files, path string, n int, live bitmap) error {
	le := binary.LittleEndian
	b := append([]byte(deadMagic), make([]byte, 8)...)
	le.PutUint32(b[8:], uint32(n))
	for _, w := range live {
		b = le.AppendUint64(b, w)
	}
	le.PutUint32(b[12:], deadSum(b))
	return files.Write(path, atomic.Bytes(b))
}

func deadSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[8:12], castagnoli()), castagnoli(), b[deadHeader:])
}

// readDead reads which of n rows are not removed.
func readDead(f *os.File, n int) (bitmap, error) {
	path := f.Name()
	size := int64(deadHeader + 8*len(newBitmap(n)))
	b, err := budget.ReadN(path, io.NewSectionReader(f, 0, size), size)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	le := binary.LittleEndian
	switch {
	case err != nil || string(b[:8]) != deadMagic:
		return nil, &DamageError{path, fmt.Sprintf("its %d bytes are not a list of a segment's rows", size)}
	case le.Uint32(b[8:]) != uint32(n):
		return nil, &DamageError{path, fmt.Sprintf("it belongs to a segment of %d rows: want %d", le.Uint32(b[8:]), n)}
	case le.Uint32(b[12:]) != deadSum(b):
		return nil, &DamageError{path, "its checksum is wrong"}
	}
	live := bitmap(numbers[uint64](b[deadHeader:]))
	if live.and(full(n)); len(live) == 0 {
		return nil, &DamageError{path, "it is empty"}
	}
	return live, nil
}

// load reads the segment that a manifest names, and its removals.
func (ref segmentRef) load(o *opened) (part, error) {
	f, err := o.take(ref.File)
	if err != nil {
		return part{}, err
	}
	s, err := readSegment(filepath.Join(o.dir, ref.File), f, o.m.Dim, o.m.Distance)
	if err != nil {
		return part{}, err
	}
	p := part{seg: s, live: s.all, dead: ref.Dead}
	if s.n != ref.Rows {
		err = &DamageError{s.path, fmt.Sprintf("it has %d rows, but the manifest says %d", s.n, ref.Rows)}
	} else if ref.Dead != "" {
		p.live, err = ref.rows(o, s.n)
	}
	if err != nil {
		s.file.Close()
		return part{}, err
	}
	p.gone = s.n - p.live.count()
	p.noted = p.gone
	return p, nil
}

// rows reads which of n rows of the segment are not removed, if the manifest names a file of
// removals.
func (ref segmentRef) rows(o *opened, n int) (bitmap, error) {
	f, err := o.other(ref.Dead)
	if err != nil {
		return nil, err
	}
	return readDead(f, n)
}
