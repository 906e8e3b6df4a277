package wasm

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Still is a decoder of still pictures, of the first one where a file has several. Its module has the interface of
// the modules avif and jpegxl by gen2brain:
//
//	int decode(uint8_t *in, int size, int config_only, int decode_all,
//	    uint32_t *width, uint32_t *height, uint32_t *depth, uint32_t *count, uint8_t *delay, uint8_t *out)
//
// It writes the size and the bits of a channel and, without config_only, four channels of each pixel with the alpha
// last. It returns 0 for a damaged file.
type Still struct {
	Gzip []byte              // the module, compressed
	Deep func(bits int) bool // whether channels of so many bits get two bytes

	once   sync.Once
	module *Module
	err    error
}

// Config is the size of a picture and the bits of a channel, as the file has them.
type Config struct{ W, H, Bits int }

var errStill = errors.New("the data are not valid, or end early")

// start begins a run and puts the file and the results of decode into its memory.
func (s *Still) start(file []byte, limits Limits) (r *Run, in, results uint64, err error) {
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
		return nil, 0, 0, fmt.Errorf("%w: %w", ErrDecoder, s.err)
	}
	if r, err = s.module.Start(limits); err != nil {
		return nil, 0, 0, err
	}
	if in, err = r.Put(file); err == nil {
		results, err = r.Alloc(resultBytes + delayBytes*(1+int64(len(file)))) // a frame has a byte at least
	}
	if err != nil {
		r.Close()
	}
	return r, in, results, err
}

// resultBytes are those of four results. After them come the delays of the frames, in up to eight bytes each.
const resultBytes, delayBytes = 16, 8

// decode calls the function of this name, and reads its results.
func (r *Run) decode(file []byte, in, results, configOnly, out uint64) (c Config, err error) {
	ok, err := r.Call("decode", in, uint64(len(file)), configOnly, 0, results, results+4, results+8, results+12,
		results+16, out)
	if err != nil {
		return c, err
	}
	b, err := r.View(results, resultBytes)
	if err != nil {
		return c, err
	}
	c = Config{W: int(binary.LittleEndian.Uint32(b)), H: int(binary.LittleEndian.Uint32(b[4:])),
		Bits: int(binary.LittleEndian.Uint32(b[8:]))}
	// The size of an animation is known before its frames, which may be cut off.
	if ok == 0 && (configOnly == 0 || c.W == 0 || c.H == 0) {
		return c, r.Failed(errStill)
	}
	return c, nil
}

// Config reads the size of a picture. The picture itself need not be in the file.
func (s *Still) Config(file []byte, limits Limits) (Config, error) {
	r, in, results, err := s.start(file, limits)
	if err != nil {
		return Config{}, err
	}
	defer r.Close()
	return r.decode(file, in, results, 1, 0)
}

// Decode decodes a picture of w x h pixels with four channels of one or two bytes. It is an error if the file has
// another size, or if it has more or fewer bits. use gets the pixels, and must not keep them.
func (s *Still) Decode(file []byte, w, h, channel int, limits Limits, use func(pix []byte)) error {
	r, in, results, err := s.start(file, limits)
	if err != nil {
		return err
	}
	defer r.Close()
	is, err := r.decode(file, in, results, 1, 0)
	if err != nil {
		return err
	}
	if is.W != w || is.H != h || s.Deep(is.Bits) != (channel == 2) {
		return fmt.Errorf("it holds a picture of %d x %d pixels with %d bits, and its header says otherwise", is.W,
			is.H, is.Bits)
	}
	n := int64(w) * int64(h) * 4 * int64(channel)
	out, err := r.Alloc(n)
	if err != nil {
		return err
	}
	// The decoder for AVIF reports success where the frame cannot be decoded. It sets the delay of a decoded one.
	delay, err := r.View(results+resultBytes, delayBytes)
	if err != nil {
		return err
	}
	for i := range delay {
		delay[i] = unset
	}
	if _, err = r.decode(file, in, results, 0, out); err != nil {
		return err
	}
	if delay, err = r.View(results+resultBytes, delayBytes); err != nil {
		return err
	}
	if bytes.Count(delay, []byte{unset}) == delayBytes {
		return r.Failed(errStill)
	}
	pix, err := r.View(out, n)
	if err == nil {
		use(pix)
	}
	return err
}

// unset is the value of each byte of a delay that is not set. It is no number.
const unset = 0xff
