package tiff

import (
	"context"
	"fmt"
	"image"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/jpeg"
)

// decoder decodes the blocks of a file. Its buffers and tables serve one block after another.
type decoder struct {
	*File
	ctx     context.Context
	out     *canvas
	buf     []byte // a block
	content []byte // a block's content, where it is not as in the file
	lzw     *lzwTable
	flate   io.ReadCloser
	zstd    *zstd.Decoder
	jpeg    jpeg.Decoder
	runs    [2][]int // see fax
	work    work
}

// work is what has been done.
type work struct {
	read     int64 // bytes of the file, with those that are read again
	unpacked int64 // bytes of blocks
	passes   jpeg.Passes
}

func (d *decoder) close() {
	if d.flate != nil {
		d.flate.Close()
	}
	if d.zstd != nil {
		d.zstd.Close()
	}
}

func (d *decoder) decode() (im image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed: %v", r)
		}
		if ended := d.ctx.Err(); ended != nil {
			im, err = nil, ended
		}
	}()
	what := fmt.Sprintf("a TIFF of %d x %d pixels in blocks of %d x %d", d.w, d.h, d.blockW, d.blockH)
	if err := budget.Check(what, d.memory); err != nil {
		return nil, err
	}
	d.out = d.newCanvas()
	if d.compression != compressJPEG {
		d.buf = make([]byte, d.blockSize(0))
	}
	for plane := range d.numPlanes {
		for row := range d.rows {
			for col := range d.cols {
				i := (plane*d.rows+row)*d.cols + col
				if err := d.block(i, plane, image.Pt(col*d.blockW, row*d.blockH)); err != nil {
					return nil, fmt.Errorf("block %d of %d: %w", i, d.numPlanes*d.rows*d.cols, err)
				}
			}
		}
	}
	return d.out.image(), nil
}

// block decodes one strip or tile, whose upper left pixel is at a point of the picture.
func (d *decoder) block(i, plane int, at image.Point) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	data, err := d.data(i)
	if err != nil {
		return err
	}
	d.work.read += int64(len(data))
	rows := d.blockRows(at.Y)
	if d.compression == compressJPEG {
		return d.jpegBlock(data, rows, plane, at)
	}
	buf := d.buf[:d.blockSize(at.Y)]
	if err := d.unpack(buf, data, rows); err != nil {
		return err
	}
	d.work.unpacked += int64(len(buf))
	if d.photometric == ycbcr {
		return d.out.chroma(d.ctx, buf, at, d.blockW, rows, d.across, d.down)
	}
	return d.out.samples(d, buf, at, rows, plane, d.blockSamples())
}
