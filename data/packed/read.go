package packed

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/edsrzf/mmap-go"
)

// File is an open file. It is safe for concurrent use until it is closed.
type File struct {
	// Key is what Create was given.
	Key Key

	path  string
	f     *os.File
	m     mmap.MMap
	index []byte
	n     int
}

// Open maps the file at path and checks its footer and index.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &File{path: path, f: f}
	if err := p.open(); err != nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func (p *File) open() error {
	info, err := p.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < footerSize {
		return fmt.Errorf("not a packed image file: %d bytes, shorter than its footer", info.Size())
	}
	if p.m, err = mmap.Map(p.f, mmap.RDONLY, 0); err != nil {
		return err
	}
	le := binary.LittleEndian
	end := uint64(len(p.m))
	footer := p.m[end-footerSize:]
	if string(footer[56:]) != magic {
		return fmt.Errorf("not a packed image file, or cut off: its last 8 bytes are %q", string(footer[56:]))
	}
	if v := le.Uint32(footer[52:]); v != version {
		return fmt.Errorf("version %d; this program reads version %d", v, version)
	}
	n, start := le.Uint64(footer[32:]), le.Uint64(footer[40:])
	if n > end/entrySize || start != end-footerSize-n*entrySize {
		return fmt.Errorf("damaged: %d images and an index at byte %d do not fit %d bytes", n, start, end)
	}
	if crc32.Checksum(p.m[start:end-16], castagnoli()) != le.Uint32(footer[48:]) {
		return fmt.Errorf("damaged: the checksum of the index is wrong")
	}
	p.Key = Key(footer[:32])
	p.index = p.m[start : end-footerSize]
	p.n = int(n)
	for i := range p.n {
		e := p.entry(i)
		// Products of three factors below 2^31 can pass 2^64 only if two do.
		if e.w > 1<<24 || e.h > 1<<24 || e.c > 3 || e.at > start || e.w*e.h*e.c > start-e.at {
			return fmt.Errorf("damaged: image %d of %d x %d x %d lies outside the file", i, e.w, e.h, e.c)
		}
	}
	return nil
}

type entry struct {
	at, w, h, c uint64
	sum         uint32
}

func (p *File) entry(i int) entry {
	le := binary.LittleEndian
	b := p.index[i*entrySize : (i+1)*entrySize]
	return entry{le.Uint64(b), uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:])), uint64(le.Uint32(b[16:])), le.Uint32(b[20:])}
}

// Len returns the number of images.
func (p *File) Len() int { return p.n }

// Image returns image i. The pixels are mapped memory: they must not be written
// to, nor used after Close. ok is false where the file notes no image.
func (p *File) Image(i int) (pix []uint8, w, h, c int, ok bool) {
	e := p.entry(i)
	n := e.w * e.h * e.c
	return p.m[e.at : e.at+n : e.at+n], int(e.w), int(e.h), int(e.c), n > 0
}

// Check compares every image with its checksum.
func (p *File) Check() error {
	for i := range p.n {
		pix, _, _, _, _ := p.Image(i)
		if crc32.Checksum(pix, castagnoli()) != p.entry(i).sum {
			return fmt.Errorf("%s: image %d is damaged: its checksum is wrong", p.path, i)
		}
	}
	return nil
}

// Close unmaps the file.
func (p *File) Close() error {
	var err error
	if p.m != nil {
		err = p.m.Unmap()
		p.m = nil
	}
	if e := p.f.Close(); err == nil {
		err = e
	}
	return err
}
