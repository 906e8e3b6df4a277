package tiff

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// Kinds of compression.
const (
	compressNone       = 1
	compressRLE        = 2
	compressG3         = 3
	compressG4         = 4
	compressLZW        = 5
	compressOldJPEG    = 6
	compressJPEG       = 7
	compressDeflate    = 8
	compressRLEW       = 32771
	compressPackBits   = 32773
	compressOldDeflate = 32946
	compressZstd       = 50000
)

// foreign names kinds of compression that are not read.
func foreign(compression int) string {
	for _, k := range []struct {
		number int
		name   string
	}{
		{compressOldJPEG, "JPEG compression as before 1995"}, {9, "JBIG compression"}, {10, "JBIG compression"},
		{32766, "NeXT compression"}, {32809, "ThunderScan compression"}, {32908, "Pixar film compression"},
		{32909, "Pixar log compression"}, {34676, "SGI log compression"}, {34677, "SGI log compression"},
		{34661, "JBIG compression"}, {34712, "JPEG 2000 compression"}, {33003, "JPEG 2000 compression"},
		{33005, "JPEG 2000 compression"}, {34887, "LERC compression"}, {34892, "lossy DNG compression"},
		{34925, "LZMA compression"}, {50001, "WebP compression"}, {50002, "JPEG XL compression"},
		{52546, "JPEG XL compression"},
	} {
		if k.number == compression {
			return k.name
		}
	}
	return fmt.Sprintf("compression %d", compression)
}

// checkCompression refuses compression that is not read, and reads its options.
func (f *File) checkCompression() error {
	predicts := false // libtiff ignores the predictor elsewhere
	switch f.compression {
	case compressNone, compressPackBits:
	case compressLZW, compressDeflate, compressOldDeflate, compressZstd:
		predicts = true
	case compressJPEG:
		if f.bits != 8 {
			return Unsupported(fmt.Sprintf("JPEG with samples of %d bits", f.bits))
		}
	case compressRLE, compressRLEW, compressG3, compressG4:
		if f.bits != 1 || f.samples != 1 {
			return fmt.Errorf("CCITT compression of %d samples of %d bits", f.samples, f.bits)
		}
		const uncompressed = 2
		if f.compression == compressG3 && f.number(tagG3Options, 0)&uncompressed != 0 {
			return Unsupported("CCITT with an uncompressed part")
		}
		f.fax = f.faxKind()
	default:
		return Unsupported(foreign(f.compression))
	}
	f.reversed = f.compression != compressJPEG && f.number(tagFillOrder, 1) == 2
	if n := f.number(tagPredictor, 1); predicts && n != 1 {
		switch {
		case n == 3:
			return Unsupported("the predictor for floating-point numbers")
		case n != 2:
			return fmt.Errorf("predictor %d", n)
		case f.bits != 8 && f.bits != 16:
			return Unsupported(fmt.Sprintf("a predictor for samples of %d bits", f.bits))
		}
		f.differences = true
	}
	return nil
}

func (f *File) faxKind() faxKind {
	const twoDimensional = 1
	switch {
	case f.compression == compressRLE:
		return faxRuns
	case f.compression == compressRLEW:
		return faxWords
	case f.compression == compressG4:
		return faxGroup4
	case f.number(tagG3Options, 0)&twoDimensional != 0:
		return faxGroup32D
	}
	return faxGroup3
}

// unpack fills out, which is a block of rows, from its content in the file. It reads no more than
// fills the block.
func (d *decoder) unpack(out, data []byte, rows int) error {
	var err error
	if d.reversed {
		if data, err = d.reverse(data); err != nil {
			return err
		}
	}
	switch d.compression {
	case compressNone:
		if n := copy(out, data); n < len(out) {
			err = tooShort(n, len(out))
		}
	case compressLZW:
		if len(data) >= 2 && data[0] == 0 && data[1]&1 == 1 {
			return Unsupported("LZW as before 1988")
		}
		if d.lzw == nil {
			d.lzw = new(lzwTable)
		}
		err = d.lzw.unpack(d.ctx, out, data)
	case compressDeflate, compressOldDeflate:
		if d.flate == nil {
			d.flate, err = zlib.NewReader(bytes.NewReader(data))
		} else {
			err = d.flate.(zlib.Resetter).Reset(bytes.NewReader(data), nil)
		}
		if err == nil {
			err = d.fill(out, d.flate)
		}
	case compressZstd:
		err = d.unzstd(out, data)
	case compressPackBits:
		err = packBits(d.ctx, out, data)
	default:
		clear(out)
		f := fax{b: data, w: d.blockW, kind: d.fax, ref: d.runs[0][:0], row: d.runs[1][:0]}
		err = f.rows(d.ctx, out, rows)
		d.runs = [2][]int{f.ref, f.row}
	}
	if err != nil || !d.differences {
		return err
	}
	return d.sum(out)
}

// fill reads all of out.
func (d *decoder) fill(out []byte, r io.Reader) error {
	const piece = 1 << 18
	for at := 0; at < len(out); {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, out[at:min(len(out), at+piece)])
		at += n
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return tooShort(at, len(out))
		case err != nil:
			return err
		}
	}
	return nil
}

func tooShort(n, all int) error { return fmt.Errorf("%d bytes of %d", n, all) }

// reverse turns the bits of every byte around.
func (d *decoder) reverse(data []byte) ([]byte, error) {
	d.content = append(d.content[:0], data...)
	for i, b := range d.content {
		if i%(1<<20) == 0 && d.ctx.Err() != nil {
			return nil, d.ctx.Err()
		}
		d.content[i] = bits.Reverse8(b)
	}
	return d.content, nil
}

// window is the size of the window of Zstandard for a block of size bytes: what refers to anything
// farther back is not of this block. It is a power of two.
func window(size int64) int64 {
	const least = 1 << 17 // as large as the parts that Zstandard compresses by themselves
	return 1 << bits.Len64(uint64(max(size, least)-1))
}

// unzstd unpacks Zstandard. libtiff writes without the size of the content, with a window of its
// level, up to 128 MB, however small a block is. The window is made to fit the block.
func (d *decoder) unzstd(out, data []byte) error {
	size := window(int64(d.blockSize(0)))
	if d.zstd == nil {
		var err error
		if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(size)), zstd.WithDecoderMaxMemory(uint64(size))); err != nil {
			return err
		}
	}
	const magic, single = "\x28\xb5\x2f\xfd", 1 << 5
	if len(data) > 5 && string(data[:4]) == magic && data[4]&single == 0 {
		if exponent := byte(bits.Len64(uint64(size)) - 11); data[5] > exponent<<3 { // in units of 1 KiB
			d.content = append(d.content[:0], data...)
			d.content[5] = exponent << 3
			data = d.content
		}
	}
	if err := d.zstd.Reset(bytes.NewReader(data)); err != nil {
		return err
	}
	return d.fill(out, d.zstd)
}

// packBits unpacks runs of bytes: a count below 128 is of bytes that follow, one above of
// the repetitions of the next byte.
func packBits(ctx context.Context, out, data []byte) error {
	n := 0
	for runs := 0; n < len(out) && len(data) > 0; runs++ {
		if runs%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		count := int(data[0])
		data = data[1:]
		switch {
		case count < 128:
			k := copy(out[n:], data[:min(count+1, len(data))])
			n += k
			data = data[min(count+1, len(data)):]
		case count > 128 && len(data) > 0:
			for range min(257-count, len(out)-n) {
				out[n] = data[0]
				n++
			}
			data = data[1:]
		}
	}
	if n < len(out) {
		return tooShort(n, len(out))
	}
	return nil
}

// sum undoes the predictor: every sample is kept as its difference from the one of its kind to
// the left of it.
func (d *decoder) sum(b []byte) error {
	samples := d.blockSamples()
	width := d.blockW * samples
	stride := width * d.bits / 8
	for ; len(b) >= stride; b = b[stride:] {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if d.bits == 8 {
			for i := samples; i < width; i++ {
				b[i] += b[i-samples]
			}
			continue
		}
		for i := samples; i < width; i++ {
			v := d.order.Uint16(b[2*i:]) + d.order.Uint16(b[2*(i-samples):])
			d.order.PutUint16(b[2*i:], v)
		}
	}
	return nil
}
