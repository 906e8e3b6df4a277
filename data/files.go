package data

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
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

func (f *files) Read(i int, dst *imaging.Image, dec *imaging.Decoder) error {
	at := f.list[i]
	content, err := at.tree.read(at.name, dec.Buffer)
	if err != nil {
		return err
	}
	dec.Buffer = content
	if err := dec.Decode(dst, content); err != nil {
		return fmt.Errorf("%s: %w", path.Join(at.tree.where(), at.name), err)
	}
	return nil
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

// closer returns what of t holds a file open, or nil.
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

// closeTree closes what t holds open.
func closeTree(t tree) {
	if c := closer(t); c != nil {
		c.Close()
	}
}

// builder collects the samples of a data set of image files.
type builder struct {
	d     *Dataset
	files *files
}

func newBuilder(layout, name string) *builder {
	f := new(files)
	return &builder{&Dataset{Name: name, Layout: layout, Source: f}, f}
}

// add appends the sample at name in t.
func (b *builder) add(t tree, name string) {
	b.files.list = append(b.files.list, file{t, name})
	b.d.Names = append(b.d.Names, name)
}

// imageExtensions are the file names that folder layouts take for images.
var imageExtensions = map[string]bool{
	".jpg": true, ".jpeg": true, ".png": true, ".gif": true, ".bmp": true,
	".webp": true, ".tif": true, ".tiff": true,
}

func isImageName(name string) bool { return imageExtensions[strings.ToLower(path.Ext(name))] }
