// Package mapped reads files through memory, and survives their being cut off
// meanwhile.
package mapped

import (
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/edsrzf/mmap-go"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/regular"
)

// File is a file whose content lies in memory: mapped or, where the system cannot
// do that, read. What touches Bytes of a mapped file runs within Touch.
type File struct {
	Bytes []byte

	m mmap.MMap // nil if Bytes was read
}

// Open opens the regular file at path.
func Open(path string) (*File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // a mapping stays
	info, err := f.Stat()
	if err != nil || info.Size() == 0 { // nothing cannot be mapped
		return &File{}, err
	}
	if m, err := mmap.Map(f, mmap.RDONLY, 0); err == nil {
		return &File{m, m}, nil
	}
	b, err := budget.ReadN(path, f, info.Size())
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errGone
	}
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return &File{Bytes: b}, nil
}

// Close frees the memory; nobody may touch it any more.
func (f *File) Close() error {
	f.Bytes = nil
	if f.m == nil {
		return nil
	}
	return f.m.Unmap()
}

var errGone = errors.New("the file was cut off, or could not be read, while it was in use")

// Touch runs f, which touches mapped memory. A page that is gone, because the file
// was cut off or the disk fails, is a fault that ends a Go program unless it is made
// a panic, and is caught, here. Goroutines that f starts are not guarded.
func Touch(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if _, fault := r.(interface{ Addr() uintptr }); fault {
			err = errGone
		} else if r != nil {
			panic(r)
		}
	}()
	f()
	return nil
}
