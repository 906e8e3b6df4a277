package imagepack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/edsrzf/mmap-go"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/mappedfile"
)

// File is an open file, mapped into memory. It is safe for concurrent use until it is closed.
type File struct {
	// Key is what Create was given.
	Key Key

	path  string
	f     *os.File
	m     mmap.MMap
	index []byte
	n     int
}

// Open opens the file at path and checks its footer and index.
func Open(path string) (*File, error) {
	f, err := fileinfo.Open(path)
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
	var footer [footerSize]byte
	if err := mappedfile.Access(func() { copy(footer[:], p.m[end-footerSize:]) }); err != nil {
		return err
	}
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
	if err := budget.Check("its index", int64(n*entrySize)); err != nil {
		return err
	}
	p.index = make([]byte, n*entrySize)
	if err := mappedfile.Access(func() { copy(p.index, p.m[start:]) }); err != nil {
		return err
	}
	sum := crc32.Checksum(p.index, crcTable())
	if crc32.Update(sum, crcTable(), footer[:48]) != le.Uint32(footer[48:]) {
		return errors.New("damaged: the checksum of the index is wrong")
	}
	p.Key = Key(footer[:32])
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
	return entry{le.Uint64(b), uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:])), uint64(le.Uint32(b[16:])),
		le.Uint32(b[20:])}
}

// Len returns the number of images.
func (p *File) Len() int { return p.n }

// Shape returns the width, height and channels of image i, zeros where the file
// notes no image.
func (p *File) Shape(i int) (w, h, c int) {
	e := p.entry(i)
	return int(e.w), int(e.h), int(e.c)
}

// Read reads the pixels of image i into pix, whose length is the product of the
// image's Shape, and compares them with their checksum. It panics on another
// length.
func (p *File) Read(i int, pix []uint8) error {
	e := p.entry(i)
	if uint64(len(pix)) != e.w*e.h*e.c {
		panic(fmt.Sprintf("imagepack: %d bytes for an image of %d x %d x %d", len(pix), e.w, e.h, e.c))
	}
	if p.m == nil {
		return fmt.Errorf("%s: %w", p.path, os.ErrClosed)
	}
	var sum uint32
	if err := mappedfile.Access(func() {
		copy(pix, p.m[e.at:])
		sum = crc32.Checksum(pix, crcTable())
	}); err != nil {
		return fmt.Errorf("%s: image %d: %w", p.path, i, err)
	}
	if sum != e.sum {
		return fmt.Errorf("%s: image %d is damaged: its checksum is wrong; without this file it is made again", p.path,
			i)
	}
	return nil
}

// Check reads every image.
func (p *File) Check() error {
	var pix []uint8
	for i := range p.n {
		w, h, c := p.Shape(i)
		if n := w * h * c; cap(pix) < n {
			pix = make([]uint8, n)
		}
		if err := p.Read(i, pix[:w*h*c]); err != nil {
			return err
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
	return errors.Join(err, p.f.Close())
}
