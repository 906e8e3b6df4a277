// Package mappedfile reads memory-mapped files, and survives it if a file is truncated
// meanwhile.
package mappedfile

import (
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/edsrzf/mmap-go"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// File is a file whose content is in memory: mapped or, if the system cannot map it,
// read. Access Bytes of a mapped file only within Touch.
type File struct {
	Bytes []byte

	m mmap.MMap // nil if Bytes was read
}

// Open opens the regular file at path.
func Open(path string) (*File, error) {
	f, err := fileinfo.Open(path)
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

// Close frees the memory, which must not be accessed afterwards.
func (f *File) Close() error {
	f.Bytes = nil
	if f.m == nil {
		return nil
	}
	return f.m.Unmap()
}

var errGone = errors.New("the file was cut off, or could not be read, while it was in use")

// Access runs f, which accesses mapped memory. If a page is gone, because the file
// was truncated or the disk fails, access is a fault that would end the program;
// Touch turns it into an error. It does not guard goroutines that f starts.
func Access(f func()) (err error) {
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
