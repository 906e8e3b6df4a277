package wasm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Decoder is a decoder of still pictures, of the first one where a file has several. Its module has the interface of
// the modules avif and jpegxl by gen2brain:
//
//	int decode(uint8_t *in, int size, int config_only, int decode_all,
//	    uint32_t *width, uint32_t *height, uint32_t *depth, uint32_t *count, uint8_t *delay, uint8_t *out)
//
// It writes the size and the bits of a channel and, without config_only, four channels of each pixel with the alpha
// last. It returns 0 for a damaged file.
type Decoder struct {
	Gzip           []byte              // the module, compressed
	HasWideSamples func(bits int) bool // whether channels of so many bits get two bytes
	// Header is how many bytes of a file are enough for its size. By default all are.
	Header int64

	once   sync.Once
	module *Module
	err    error
}

// Config is the size of a picture and the bits of a channel, as the file has them.
type Config struct{ W, H, Bits int }

var errStill = errors.New("the data are not valid, or end early")

// file is a file in the memory of a run, with room for the results of decode.
type file struct {
	*Run
	in      uint64
	size    int64
	results uint64
}

// openFile begins a run and puts a file, in pieces, into its memory.
func (s *Decoder) openFile(ctx context.Context, limits Limits, pieces [][]byte) (*file, error) {
	s.once.Do(func() {
		z, err := gzip.NewReader(bytes.NewReader(s.Gzip))
		var code []byte
		if err == nil {
			code, err = io.ReadAll(z)
		}
		if err == nil {
			s.module, err = Compile(code)
		}
		s.err = err
	})
	if s.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDecoder, s.err)
	}
	r, err := s.module.Start(ctx, limits)
	if err != nil {
		return nil, err
	}
	f := &file{Run: r, size: TotalLen(pieces...)}
	// Reading the size of a film passes over its frames, each of which has a byte at least.
	frames := int64(1)
	if s.Header > 0 {
		frames += min(f.size, s.Header)
	}
	if f.in, err = r.CopyIn(pieces...); err == nil {
		f.results, err = r.Alloc(resultBytes + delayBytes*frames)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return f, nil
}

// resultBytes are those of four results. After them come the delays of the frames, in up to eight bytes each.
const resultBytes, delayBytes = 16, 8

// decode calls the function of this name with the first bytes of the file, and reads its results.
func (f *file) decode(size int64, configOnly, out uint64) (c Config, err error) {
	ok, err := f.Call("decode", f.in, uint64(size), configOnly, 0, f.results, f.results+4, f.results+8, f.results+12,
		f.results+16, out)
	if err != nil {
		return c, err
	}
	b, err := f.View(f.results, resultBytes)
	if err != nil {
		return c, err
	}
	c = Config{W: int(binary.LittleEndian.Uint32(b)), H: int(binary.LittleEndian.Uint32(b[4:])),
		Bits: int(binary.LittleEndian.Uint32(b[8:]))}
	// The size of an animation is known before its frames, which may be cut off.
	if ok == 0 && (configOnly == 0 || c.W == 0 || c.H == 0) {
		return c, f.FailureError(errStill)
	}
	return c, nil
}

// config reads the size of the picture.
func (f *file) config(s *Decoder) (Config, error) {
	size := f.size
	if s.Header > 0 {
		size = min(size, s.Header)
	}
	return f.decode(size, 1, 0)
}

// Config reads the size of the picture in a file, which is given in pieces. The picture itself need not be in it.
func (s *Decoder) Config(ctx context.Context, limits Limits, pieces ...[]byte) (Config, error) {
	f, err := s.openFile(ctx, limits, pieces)
	if err != nil {
		return Config{}, err
	}
	defer f.Close()
	return f.config(s)
}

// Decode decodes a picture of w x h pixels with four channels of one or two bytes, from a file in pieces. It is an
// error if the file has another size, or if it has more or fewer bits. use gets the pixels, and must not keep them.
func (s *Decoder) Decode(ctx context.Context, limits Limits, w, h, channel int, use func(pix []byte),
	pieces ...[]byte) error {
	f, err := s.openFile(ctx, limits, pieces)
	if err != nil {
		return err
	}
	defer f.Close()
	is, err := f.config(s)
	if err != nil {
		return err
	}
	if is.W != w || is.H != h || s.HasWideSamples(is.Bits) != (channel == 2) {
		return fmt.Errorf("it holds a picture of %d x %d pixels with %d bits, and its header says otherwise", is.W,
			is.H, is.Bits)
	}
	n := int64(w) * int64(h) * 4 * int64(channel)
	out, err := f.Alloc(n)
	if err != nil {
		return err
	}
	// The decoder for AVIF reports success where the frame cannot be decoded. It sets the delay of a decoded one.
	delay, err := f.View(f.results+resultBytes, delayBytes)
	if err != nil {
		return err
	}
	for i := range delay {
		delay[i] = unset
	}
	if _, err = f.decode(f.size, 0, out); err != nil {
		return err
	}
	if delay, err = f.View(f.results+resultBytes, delayBytes); err != nil {
		return err
	}
	if bytes.Count(delay, []byte{unset}) == delayBytes {
		return f.FailureError(errStill)
	}
	pix, err := f.View(out, n)
	if err == nil {
		use(pix)
	}
	return err
}

// unset is the value of each byte of a delay that is not set. It is no number.
const unset = 0xff
