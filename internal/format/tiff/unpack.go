package tiff

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/image/tiff/lzw"
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

// predicts reports whether a compression knows of the predictor; libtiff ignores it elsewhere.
func (p *picture) predicts() bool {
	switch p.compression {
	case compressLZW, compressDeflate, compressOldDeflate, compressZstd:
		return true
	}
	return false
}

func (p *picture) knownCompression() error {
	switch p.compression {
	case compressNone, compressLZW, compressJPEG, compressDeflate, compressPackBits, compressOldDeflate, compressZstd:
	case compressRLE, compressRLEW, compressG3, compressG4:
		if p.bits != 1 || p.samples != 1 {
			return fmt.Errorf("CCITT compression of %d samples of %d bits", p.samples, p.bits)
		}
		const uncompressed = 2
		if p.compression == compressG3 && p.number(tagG3Options, 0)&uncompressed != 0 {
			return Unsupported("CCITT with an uncompressed part")
		}
	default:
		return Unsupported(foreign(p.compression))
	}
	if n := p.number(tagPredictor, 1); p.predicts() && n != 1 {
		switch {
		case n == 3:
			return Unsupported("the predictor for floating-point numbers")
		case n != 2:
			return fmt.Errorf("predictor %d", n)
		case p.bits != 8 && p.bits != 16:
			return Unsupported(fmt.Sprintf("a predictor for samples of %d bits", p.bits))
		}
	}
	return nil
}

// unpack fills out, which is a block of w x rows pixels, from its content in the file.
func (p *picture) unpack(out, data []byte, w, rows, samples int) error {
	if p.number(tagFillOrder, 1) == 2 {
		data = reversed(data)
	}
	var err error
	switch p.compression {
	case compressNone:
		err = fill(out, bytes.NewReader(data))
	case compressLZW:
		if len(data) >= 2 && data[0] == 0 && data[1]&1 == 1 {
			return Unsupported("LZW as before 1988")
		}
		r := lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8)
		defer r.Close()
		err = fill(out, r)
	case compressDeflate, compressOldDeflate:
		var r io.ReadCloser
		if r, err = zlib.NewReader(bytes.NewReader(data)); err == nil {
			defer r.Close()
			err = fill(out, r)
		}
	case compressZstd:
		var r *zstd.Decoder
		if r, err = zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true)); err == nil {
			defer r.Close()
			err = fill(out, r)
		}
	case compressPackBits:
		err = packBits(out, data)
	default:
		clear(out)
		f := fax{b: data, w: w, kind: p.faxKind()}
		err = f.rows(out, rows)
	}
	if err != nil {
		return err
	}
	if p.predicts() && p.number(tagPredictor, 1) == 2 {
		sum(out, w*samples, samples, p.bits, p.order)
	}
	return nil
}

func (p *picture) faxKind() faxKind {
	const twoDimensional = 1
	switch {
	case p.compression == compressRLE:
		return faxRuns
	case p.compression == compressRLEW:
		return faxWords
	case p.compression == compressG4:
		return faxGroup4
	case p.number(tagG3Options, 0)&twoDimensional != 0:
		return faxGroup32D
	}
	return faxGroup3
}

// fill reads all of out.
func fill(out []byte, r io.Reader) error {
	n, err := io.ReadFull(r, out)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%d bytes of %d", n, len(out))
	}
	return err
}

// reversed turns the bits of every byte around.
func reversed(data []byte) []byte {
	out := make([]byte, len(data))
	for i, b := range data {
		out[i] = bits.Reverse8(b)
	}
	return out
}

// packBits unpacks runs of bytes: a count below 128 is of bytes that follow, one above of
// the repetitions of the next byte.
func packBits(out, data []byte) error {
	n := 0
	for n < len(out) && len(data) > 0 {
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
		return fmt.Errorf("%d bytes of %d", n, len(out))
	}
	return nil
}

// sum undoes the predictor: every sample is kept as its difference from the one of its kind to
// the left of it. Rows have width samples.
func sum(b []byte, width, samples, bits int, order binary.ByteOrder) {
	stride := width * bits / 8
	for ; len(b) >= stride; b = b[stride:] {
		if bits == 8 {
			for i := samples; i < width; i++ {
				b[i] += b[i-samples]
			}
			continue
		}
		for i := samples; i < width; i++ {
			v := order.Uint16(b[2*i:]) + order.Uint16(b[2*(i-samples):])
			order.PutUint16(b[2*i:], v)
		}
	}
}
