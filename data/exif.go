package data

import (
	"bytes"
	"context"
	"io"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// EXIF returns the EXIF data of the part's samples, in order. Values are zero for files without
// EXIF data and files that cannot be read. It returns nil unless every sample is a file in a folder or
// archive on this machine.
func (p *Part) EXIF(ctx context.Context) ([]imaging.EXIF, error) {
	f, ok := p.Data.Source.(*files)
	if !ok || !p.Data.HasLocalFiles() {
		return nil, nil
	}
	out := make([]imaging.EXIF, p.Len())
	err := par.ForContext(ctx, len(out), 64, func(lo, hi int) {
		var buf []byte
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			at := f.list[p.Index[k]]
			b, err := readHead(at, buf)
			if err == nil {
				out[k], buf = imaging.ReadEXIF(b), b
			}
		}
	})
	return out, err
}

// headSize is larger than the marker segments of a JPEG file up to the end of its EXIF block.
const headSize = 128 << 10

// readHead returns the part of a file that may hold the EXIF block: the beginning of a JPEG file in a
// folder, or all of another file. buf is a buffer to read into.
func readHead(at file, buf []byte) ([]byte, error) {
	dir, ok := asFolder(at.tree)
	if !ok {
		return at.tree.read(at.name, buf)
	}
	file, err := dir.in.Open(dir.path(at.name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if cap(buf) < headSize {
		buf = make([]byte, headSize)
	}
	n, err := io.ReadFull(file, buf[:headSize])
	if err == io.EOF || err == io.ErrUnexpectedEOF { // the file is shorter
		return buf[:n], nil
	}
	if err != nil || bytes.HasPrefix(buf[:n], []byte("\xff\xd8")) {
		return buf[:n], err
	}
	return at.tree.read(at.name, buf)
}
