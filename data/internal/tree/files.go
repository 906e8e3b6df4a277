package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// Files is a Source of image files.
type Files struct {
	list    []file
	w, h, c int
}

// file is one image file.
type file struct {
	tree Tree
	name string
}

// Add appends the file of a sample.
func (f *Files) Add(t Tree, name string) { f.list = append(f.list, file{t, name}) }

// Keep keeps the files at some places.
func (f *Files) Keep(places []int) {
	f.list = lists.At(f.list, places)
}

// Count returns the number of files.
func (f *Files) Count() int { return len(f.list) }

// Name returns the name of the file of sample i in its tree.
func (f *Files) Name(i int) string { return f.list[i].name }

// Stat describes the file of sample i without opening it.
func (f *Files) Stat(i int) Stat { return f.list[i].tree.Stat(f.list[i].name) }

// IsRemote reports whether a file is neither in a folder nor in an archive on this machine.
func (f *Files) IsRemote() bool {
	return slices.ContainsFunc(f.list, func(at file) bool { return IsRemote(at.tree) })
}

// SetShape sets the shape that all images have.
func (f *Files) SetShape(w, h, c int) { f.w, f.h, f.c = w, h, c }

func (f *Files) Shape() (w, h, c int) { return f.w, f.h, f.c }

// Content reads the file of sample i, into buf if it is large enough.
func (f *Files) Content(i int, buf []byte) ([]byte, error) {
	return f.list[i].tree.Read(f.list[i].name, buf)
}

func (f *Files) Read(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error {
	at := f.list[i]
	dec.Release(dst)
	content, err := f.Content(i, dec.Buffer)
	if err != nil {
		return err
	}
	dec.Buffer = content
	if err := dec.Decode(ctx, dst, content); err != nil {
		return fmt.Errorf("%s: %w", path.Join(at.tree.Location(), at.name), err)
	}
	return nil
}

// NewFiles returns the source of all images of a tree, in its order.
func NewFiles(t *Sharded) *Files {
	f := &Files{list: make([]file, len(t.names))}
	for i, n := range t.names {
		f.list[i] = file{t, n}
	}
	return f
}

// Unreadable is the digest of a file that cannot be read. Decoding the file gives the error.
const Unreadable = "unreadable"

// Digests returns digests of the files of some samples, until ctx ends.
func (f *Files) Digests(ctx context.Context, index []int) []string {
	sums := make([]string, len(index))
	room := sync.Pool{New: func() any { return new([]byte) }}
	par.For(len(sums), 64, func(lo, hi int) {
		buf := room.Get().(*[]byte)
		defer room.Put(buf)
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			at := f.list[index[k]]
			var err error
			if sums[k], *buf, err = at.tree.Digest(at.name, *buf); err != nil {
				sums[k] = Unreadable
			}
		}
	})
	return sums
}

// Close closes the archives that the files are in.
func (f *Files) Close() error {
	var errs []error
	closed := make(map[io.Closer]bool)
	for _, at := range f.list {
		if c := closer(at.tree); c != nil && !closed[c] {
			closed[c] = true
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// closer returns the part of t that holds a file open, or nil.
func closer(t Tree) io.Closer {
	for {
		s, ok := t.(Sub)
		if !ok {
			break
		}
		t = s.Tree
	}
	c, _ := t.(io.Closer)
	return c
}

// Close closes the files that t holds open.
func Close(t Tree) {
	if c := closer(t); c != nil {
		c.Close()
	}
}

// AsFolder returns t as a folder, if it is one.
func AsFolder(t Tree) (Folder, bool) {
	if s, ok := t.(Sub); ok {
		f, ok := AsFolder(s.Tree)
		return NewFolder(f.path(s.dir), f.in), ok
	}
	f, ok := t.(Folder)
	return f, ok
}

// IsImageName reports whether folder layouts take a file for an image.
func IsImageName(name string) bool { return imaging.IsReadableName(name) }

// IsImage is isImageName for a file of t. If the decoder for a name is missing, the content of a file in a folder
// decides: phones and programs also give JPEG files the name of a HEIC file.
func IsImage(t Tree, name string) bool {
	if IsImageName(name) || !imaging.NeedsDecoder(name) {
		return IsImageName(name)
	}
	f, ok := AsFolder(t)
	if !ok {
		return false
	}
	file, err := f.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(file, head)
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && imaging.IsReadable(head[:n])
}

// headSize is larger than the marker segments of a JPEG file up to the end of its EXIF block.
const headSize = 128 << 10

// Head returns the part of the file of sample i that may hold the EXIF block: the beginning of a JPEG file in a
// folder, or all of another file. buf is a buffer to read into.
func (f *Files) Head(i int, buf []byte) ([]byte, error) {
	at := f.list[i]
	dir, ok := AsFolder(at.tree)
	if !ok {
		return at.tree.Read(at.name, buf)
	}
	file, err := dir.Open(at.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if cap(buf) < headSize {
		buf = make([]byte, headSize)
	}
	n, err := io.ReadFull(file, buf[:headSize])
	if err == io.EOF || err == io.ErrUnexpectedEOF { // the file is shorter
		return buf[:n], nil
	}
	if err != nil || bytes.HasPrefix(buf[:n], []byte("\xff\xd8")) {
		return buf[:n], err
	}
	return at.tree.Read(at.name, buf)
}
