// Package idx reads the idx format of the MNIST family of data sets.
//
//	offset  bytes  field
//	0       2      zero
//	2       1      element type: 0x08 uint8
//	3       1      number of dimensions d
//	4       4d     dimensions, big-endian uint32
//	4+4d    n      elements, row-major; n = product of the dimensions
//
// Files may be compressed with gzip. Only uint8 elements, the only kind that
// image sets of this family use, are read.
package idx

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Tensor is the content of one file: Data holds the product of Dims values in
// row-major order.
type Tensor struct {
	Dims []int
	Data []uint8
}

// ReadFile reads the file at path. Errors name the file and the sizes that
// disagree.
func ReadFile(path string) (*Tensor, error) {
	f, err := fileinfo.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Read reads one tensor, gzip-compressed or not, and requires that nothing
// follows it.
func Read(r io.Reader) (*Tensor, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	magic, err := br.Peek(2)
	if err != nil {
		return nil, fmt.Errorf("not an idx file: shorter than 4 bytes")
	}
	if magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("damaged gzip header: %w", err)
		}
		br = bufio.NewReaderSize(zr, 1<<16)
	}
	t, err := readPlain(br)
	if err != nil {
		return nil, gzipError(err)
	}
	return t, nil
}

func readPlain(r io.Reader) (*Tensor, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, truncatedError(err, "not an idx file: shorter than 4 bytes")
	}
	if head[0] != 0 || head[1] != 0 {
		return nil, fmt.Errorf("not an idx file: it starts with %#02x %#02x where idx has two zero bytes", head[0],
			head[1])
	}
	if head[2] != 0x08 {
		return nil, fmt.Errorf("idx element type %#02x; only 0x08 (uint8) is supported", head[2])
	}
	d := int(head[3])
	if d < 1 || d > 4 {
		return nil, fmt.Errorf("idx file with %d dimensions; expected 1 (labels) to 4", d)
	}
	raw := make([]byte, 4*d)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, truncatedError(err, "idx header is cut off within its dimensions")
	}
	t := &Tensor{Dims: make([]int, d)}
	size := int64(1)
	for i := range t.Dims {
		n := binary.BigEndian.Uint32(raw[4*i:])
		t.Dims[i] = int(n)
		size = budget.Product(size, int64(n))
	}
	// The header's sizes are claims: memory is taken as bytes come.
	var err error
	t.Data, err = budget.ReadN(fmt.Sprintf("values of dimensions %v", t.Dims), r, size)
	if err != nil {
		return nil, truncatedError(err,
			fmt.Sprintf("truncated: dimensions %v need %d bytes of data, the file has %d", t.Dims, size, len(t.Data)))
	}
	var extra [1]byte
	switch n, err := io.ReadFull(r, extra[:]); {
	case n > 0:
		return nil, fmt.Errorf("bytes left over after the %d that dimensions %v announce", size, t.Dims)
	case !errors.Is(err, io.EOF):
		// Where a gzip checksum that fails, or is cut off, shows up.
		return nil, truncatedError(err, "truncated: the gzip data end early")
	}
	return t, nil
}

// truncatedError gives the end of the input a better message and keeps other errors.
func truncatedError(err error, msg string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New(msg)
	}
	return err
}

func gzipError(err error) error {
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return fmt.Errorf("damaged gzip data: %w", err)
	}
	return err
}
