package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"sync"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// files is a Source of image files.
type files struct {
	list    []file
	w, h, c int
}

// file is one image file.
type file struct {
	tree tree
	name string
}

func (f *files) Shape() (w, h, c int) { return f.w, f.h, f.c }

func (f *files) Read(ctx context.Context, i int, dst *imaging.Image, dec *imaging.Decoder) error {
	at := f.list[i]
	dec.Release(dst)
	content, err := at.tree.read(at.name, dec.Buffer)
	if err != nil {
		return err
	}
	dec.Buffer = content
	if err := dec.Decode(ctx, dst, content); err != nil {
		return fmt.Errorf("%s: %w", path.Join(at.tree.location(), at.name), err)
	}
	return nil
}

// sourceOf returns the source of all images of a tree, in its order.
func sourceOf(t *shardedTree) *files {
	f := &files{list: make([]file, len(t.names))}
	for i, n := range t.names {
		f.list[i] = file{t, n}
	}
	return f
}

// unreadable is the digest of a file that cannot be read. Decoding the file gives the error.
const unreadable = "unreadable"

// digests returns digests of the files of some samples, until ctx ends.
func (f *files) digests(ctx context.Context, index []int) []string {
	sums := make([]string, len(index))
	room := sync.Pool{New: func() any { return new([]byte) }}
	par.For(len(sums), 64, func(lo, hi int) {
		buf := room.Get().(*[]byte)
		defer room.Put(buf)
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			at := f.list[index[k]]
			var err error
			if sums[k], *buf, err = at.tree.digest(at.name, *buf); err != nil {
				sums[k] = unreadable
			}
		}
	})
	return sums
}

// Close closes the archives that the files are in.
func (f *files) Close() error {
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
func closer(t tree) io.Closer {
	for {
		s, ok := t.(subtree)
		if !ok {
			break
		}
		t = s.tree
	}
	c, _ := t.(io.Closer)
	return c
}

// closeTree closes the files that t holds open.
func closeTree(t tree) {
	if c := closer(t); c != nil {
		c.Close()
	}
}

// builder collects the samples of a data set of image files.
type builder struct {
	d       *Dataset
	files   *files
	outside bool
}

func newBuilder(layout, name string, opt OpenOptions) *builder {
	f := new(files)
	return &builder{&Dataset{Name: name, Layout: layout, Source: f}, f, opt.Outside}
}

// addListed appends the sample that a file of t lists by name. A name that leads outside is refused:
// in an archive always, in a folder unless the options allow it.
func (b *builder) addListed(t tree, name string) error {
	name = filepath.ToSlash(name)
	if filepath.IsLocal(filepath.FromSlash(name)) && !path.IsAbs(name) {
		b.add(t, findInTree(t, name))
		return nil
	}
	if why := unwritableReason(name); why != "" {
		return fmt.Errorf("the name %q %s", name, why)
	}
	switch f, ok := asFolder(t); {
	case !ok:
		return fmt.Errorf("%s leads outside the archive %s", name, t.location())
	case !b.outside:
		if in, err := relativePath(f, name); err == nil {
			b.add(t, findInTree(t, in))
			return nil
		}
		return option.Errorf("%s leads outside the data set's folder %s: %s permits that", name, t.location(),
			optOutside)
	case path.IsAbs(name) || filepath.IsAbs(name):
		b.add(folder{}, findInTree(folder{}, name))
	default:
		f.in = nil // name is a whole path
		b.add(f, findInTree(f, name))
	}
	return nil
}

// relativePath returns the path in a folder of a file with the given whole path.
func relativePath(f folder, name string) (string, error) {
	root, err := filepath.Abs(f.dir)
	if err != nil {
		return "", err
	}
	name = filepath.FromSlash(name)
	if !filepath.IsAbs(name) {
		return "", fs.ErrNotExist
	}
	in, err := filepath.Rel(root, name)
	if err != nil || !filepath.IsLocal(in) {
		return "", fs.ErrNotExist
	}
	return filepath.ToSlash(in), nil
}

// asFolder returns t as a folder, if it is one.
func asFolder(t tree) (folder, bool) {
	if s, ok := t.(subtree); ok {
		f, ok := asFolder(s.tree)
		return folder{f.path(s.dir), f.in}, ok
	}
	f, ok := t.(folder)
	return f, ok
}

// add appends the sample at name in t. The name is from a walk through t.
func (b *builder) add(t tree, name string) {
	b.files.list = append(b.files.list, file{t, path.Clean(name)})
	b.d.Names = append(b.d.Names, name)
}

// isImageName reports whether folder layouts take a file for an image.
func isImageName(name string) bool { return imaging.IsReadableName(name) }

// isImage is isImageName for a file of t. If the decoder for a name is missing, the content of a file in a folder
// decides: phones and programs also give JPEG files the name of a HEIC file.
func isImage(t tree, name string) bool {
	if isImageName(name) || !imaging.NeedsDecoder(name) {
		return isImageName(name)
	}
	f, ok := asFolder(t)
	if !ok {
		return false
	}
	file, _, err := f.in.OpenSized(f.path(name)) // of a regular file
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(file, head)
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && imaging.IsReadable(head[:n])
}
