package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// RangeFile is an open file; any range of it can be read.
type RangeFile struct {
	io.ReaderAt
	io.Closer
	Size int64
	// state identifies the file's content, by fileinfo.State or by its server. It is "" if unknown.
	State string
}

// OpenRanged opens a file of t for reading by ranges.
func OpenRanged(t Tree, name string) (*RangeFile, error) {
	switch t := t.(type) {
	case Folder:
		f, err := t.Open(name)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		return &RangeFile{f, f, info.Size(), fileState(info)}, nil
	case FS:
		return t.openRanged(name)
	case Sub:
		return OpenRanged(t.Tree, t.dir+"/"+name)
	case Selection:
		return OpenRanged(t.Tree, name)
	}
	return nil, fmt.Errorf("%s: %s is a shard within an archive, so ranges of it cannot be read: unpack the "+
		"archive", t.Location(), name)
}

// ErrShardChanged is the error of a shard that is not as it was.
var ErrShardChanged = errors.New("the shard has changed since it was indexed: start again")

// OpenUnchanged opens a shard of t for reading by ranges. It is an error if its state is another one.
func OpenUnchanged(t Tree, name, state string) (*RangeFile, error) {
	f, err := OpenRanged(t, name)
	if err == nil && f.State != state {
		f.Close()
		return nil, ErrShardChanged
	}
	return f, err
}

// fileState returns the state of a file, or "" if its time is unknown.
func fileState(info fs.FileInfo) string {
	if info.ModTime().IsZero() {
		return ""
	}
	return fileinfo.State(info)
}

func (s FS) openRanged(name string) (*RangeFile, error) {
	full := s.name + "/" + name
	f, err := s.files.Open(name)
	if err != nil {
		return nil, WithName(s.name, err)
	}
	at, ok := f.(io.ReaderAt)
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &fileinfo.NotRegularError{Path: full, Mode: info.Mode()}
	case !ok:
		err = fmt.Errorf("%s: ranges of the file cannot be read, but shards need that", full)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &RangeFile{at, f, info.Size(), fileState(info)}
	if known, ok := s.files.(interface {
		Digest(name string) (string, error)
	}); ok {
		sum, err := known.Digest(name)
		if err != nil {
			f.Close()
			return nil, WithName(s.name, err)
		}
		if sum != "" {
			r.State = sum
		}
	}
	return r, nil
}

// IsRemote reports whether t is neither a folder nor an archive on this machine.
func IsRemote(t Tree) bool {
	_, remote := baseTree(t).(FS)
	return remote
}

// baseTree returns the folder, archive or file system that t is a part of.
func baseTree(t Tree) Tree {
	for {
		switch at := t.(type) {
		case Sub:
			t = at.Tree
		case Selection:
			t = at.Tree
		case *Sharded:
			t = at.base
		default:
			return t
		}
	}
}
