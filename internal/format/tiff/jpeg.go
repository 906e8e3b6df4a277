package tiff

import (
	"bytes"
	"errors"
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/jpeg"
)

const (
	soi, eoi = "\xff\xd8", "\xff\xd9"
	// maxTables is more than the bytes of all tables that a JPEG can use at once. The tables are
	// read again for each block.
	maxTables = 4096
	// largestUnit is the side in pixels of the largest unit of a JPEG, to which sides are rounded up.
	largestUnit = 32
)

// readTables reads what comes before the data of each JPEG: a segment of Adobe's, which says what
// colours these are, and the tables that a file may have once for all blocks.
func (f *File) readTables() error {
	if f.compression != compressJPEG {
		return nil
	}
	if f.planes && f.photometric == ycbcr {
		return Unsupported("JPEG of YCbCr with its samples in planes of their own")
	}
	transform := "\x00"
	if f.photometric == ycbcr {
		transform = "\x01"
	}
	f.tables = []byte(soi + "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" + transform)
	tables := f.tags[tagJPEGTables].data
	if len(tables) > maxTables {
		return fmt.Errorf("JPEG tables of %d bytes: more than the %d allowed", len(tables), maxTables)
	}
	f.tables = append(f.tables, bytes.TrimSuffix(bytes.TrimPrefix(tables, []byte(soi)), []byte(eoi))...)
	return nil
}

// jpegMemory is the memory for decoding a block in JPEG, with its pixels: twice the planes and, of a
// progressive one, coefficients of two bytes.
func (f *File) jpegMemory() int64 {
	up := func(n int) int64 { return int64(ceil(n, largestUnit)+1) * largestUnit }
	w, h := up(f.blockW), up(f.blockH)
	return budget.Sum(budget.Product(int64(f.blockSamples()), w, h, 4), budget.Product(64, w))
}

// jpegBlock decodes a block that is a JPEG file without the tables.
func (d *decoder) jpegBlock(data []byte, rows, plane int, at image.Point) error {
	data, ok := bytes.CutPrefix(data, []byte(soi))
	if !ok {
		return fmt.Errorf("no JPEG: it starts with %q", data[:min(len(data), 8)])
	}
	d.content = append(append(d.content[:0], d.tables...), data...)
	if err := d.checkJPEG(d.content, rows); err != nil {
		return err
	}
	d.jpeg.MaxBytes, d.jpeg.Smooth, d.jpeg.Inks, d.jpeg.Done = d.jpegMemory(), true, true, d.ctx.Done()
	grow := func(w, h, c int) []uint8 {
		if n := w * h * c; cap(d.buf) < n {
			d.buf = make([]byte, n)
		}
		return d.buf[:w*h*c]
	}
	if d.jpeg.Decode(d.content, grow) != nil && d.jpeg.DecodeAny(d.content, grow) != nil {
		return errors.New("its JPEG is damaged, or ends early")
	}
	return d.out.samples(d, d.buf, at, rows, plane, d.blockSamples())
}

// checkJPEG refuses a JPEG that is not of its block's size before it is decoded. The last strip may
// hold as many rows as the others, rounded up to the units of the JPEG.
func (d *decoder) checkJPEG(b []byte, rows int) error {
	k, ok := jpeg.ReadKind(b)
	if !ok {
		return errors.New("its JPEG has no frame")
	}
	if name := k.Unread(); name != "" {
		return Unsupported(name)
	}
	unit := k.UnitHeight()
	if most := ceil(d.blockH, unit) * unit; k.W != d.blockW || k.H < rows || k.H > most ||
		k.Components != d.blockSamples() {
		return fmt.Errorf("a JPEG of %d x %d pixels of %d samples in a block of %d x %d of %d", k.W, k.H, k.Components,
			d.blockW, rows, d.blockSamples())
	}
	p := k.Passes(b)
	if err := p.Check(); err != nil {
		return err
	}
	d.work.passes.Samples += p.Samples
	d.work.unpacked += int64(k.W * k.H * k.Components)
	return jpeg.Passes{Scans: p.Scans, Samples: d.work.passes.Samples}.Check()
}
