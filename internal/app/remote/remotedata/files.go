package remotedata

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// files is a file system of blobs. A file that is opened is read whole, unless it is a shard.
type files struct {
	ctx    context.Context // of Open; it ends all reads, as the interface passes none
	where  string
	files  map[string]*blob
	dirs   map[string][]fs.DirEntry
	beside func(name string) *blob // finds a file that is not listed; nil without such files
	pool   blockCache              // of blocks of shards
	used   int64                   // bytes of memory, about
}

// listShare is the part of the memory that a list of files may take: what is made of it takes
// as much again.
const listShare = 2

// fileMemory is what a file takes in a list besides its name, which is there about nameCopies
// times.
const fileMemory, nameCopies = 400, 3

// countMemory counts the memory of one more file.
func (f *files) countMemory(name int) error {
	f.used += fileMemory + nameCopies*int64(name)
	if limit := budget.Limit(); f.used > limit/listShare {
		return &budget.Error{What: fmt.Sprintf("%s: a list of more than %d files (name fewer files, for example by "+
			"a longer prefix, or keep the images in shards, .tar)", f.where, len(f.files)), Limit: limit}
	}
	return nil
}

func newFiles(ctx context.Context, where string) *files {
	return &files{ctx: ctx, where: where, files: map[string]*blob{}, dirs: map[string][]fs.DirEntry{".": nil}}
}

// add adds a file with the folders that it is in.
func (f *files) add(name string, b *blob) error {
	if f.files[name] != nil {
		return nil
	}
	if err := f.countMemory(len(name)); err != nil {
		return err
	}
	f.files[name] = b
	entry := entry{name: path.Base(name), size: max(0, b.size)}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		_, known := f.dirs[dir]
		f.dirs[dir] = append(f.dirs[dir], entry)
		if known {
			return nil
		}
		if err := f.countMemory(len(dir)); err != nil {
			return err
		}
		entry.name, entry.size, entry.dir = path.Base(dir), 0, true
	}
}

// Open reads a file, or opens a folder.
func (f *files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if _, ok := f.dirs[name]; ok {
		return &file{entry: entry{name: path.Base(name), dir: true}, Reader: bytes.NewReader(nil)}, nil
	}
	b := f.files[name]
	if b == nil && f.beside != nil {
		b = f.beside(name)
	}
	if b == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if isShard(name) {
		return f.openShard(name, b)
	}
	content, err := b.readAll(f.ctx)
	if err != nil {
		return nil, err
	}
	return &file{entry: entry{name: path.Base(name), size: int64(len(content))}, Reader: bytes.NewReader(content)}, nil
}

// Stat tells what was listed.
func (f *files) Stat(name string) (fs.FileInfo, error) {
	if _, ok := f.dirs[name]; ok {
		return entry{name: path.Base(name), dir: true}, nil
	}
	if b := f.files[name]; b != nil {
		return entry{name: path.Base(name), size: max(0, b.size)}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists a folder in the order of the names.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	list, ok := f.dirs[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Digest tells a file's content from others without reading it, where the server
// does; else it is empty.
func (f *files) Digest(name string) (string, error) {
	b := f.files[name]
	if b == nil || b.etag == "" {
		return "", nil
	}
	return "etag " + b.etag, nil
}

// entry is a file or a folder as it was listed.
type entry struct {
	name string
	size int64
	dir  bool
}

func (e entry) Name() string               { return e.name }
func (e entry) IsDir() bool                { return e.dir }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }
func (e entry) Size() int64                { return e.size }
func (e entry) ModTime() time.Time         { return time.Time{} }
func (e entry) Sys() any                   { return nil }
func (e entry) Type() fs.FileMode          { return e.Mode().Type() }

func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// file is a file that was read.
type file struct {
	entry
	io.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *file) Close() error               { return nil }
