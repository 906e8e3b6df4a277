package data

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// ranged is an open file; any range of it can be read.
type ranged struct {
	io.ReaderAt
	io.Closer
	size int64
	// state identifies the file's content, by fileinfo.State or by its server. It is "" if unknown.
	state string
}

// openRanged opens a file of t for reading by ranges.
func openRanged(t tree, name string) (*ranged, error) {
	switch t := t.(type) {
	case folder:
		f, err := t.in.Open(t.path(name))
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		return &ranged{f, f, info.Size(), stateOf(info)}, nil
	case system:
		return t.openRanged(name)
	case subtree:
		return openRanged(t.tree, t.dir+"/"+name)
	case picked:
		return openRanged(t.tree, name)
	}
	return nil, fmt.Errorf("%s: %s is a shard within an archive, so ranges of it cannot be read: unpack the "+
		"archive", t.where(), name)
}

// stateOf returns the state of a file, or "" if its time is unknown.
func stateOf(info fs.FileInfo) string {
	if info.ModTime().IsZero() {
		return ""
	}
	return fileinfo.State(info)
}

func (s system) openRanged(name string) (*ranged, error) {
	full := s.name + "/" + name
	f, err := s.files.Open(name)
	if err != nil {
		return nil, named(s.name, err)
	}
	at, ok := f.(io.ReaderAt)
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &fileinfo.Error{Path: full, Mode: info.Mode()}
	case !ok:
		err = fmt.Errorf("%s: ranges of the file cannot be read, but shards need that", full)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &ranged{at, f, info.Size(), stateOf(info)}
	if known, ok := s.files.(interface {
		Digest(name string) (string, error)
	}); ok {
		sum, err := known.Digest(name)
		if err != nil {
			f.Close()
			return nil, named(s.name, err)
		}
		if sum != "" {
			r.state = sum
		}
	}
	return r, nil
}

// below returns the folder, archive or file system that t is a part of.
func below(t tree) tree {
	for {
		switch at := t.(type) {
		case subtree:
			t = at.tree
		case picked:
			t = at.tree
		case *sharded:
			t = at.base
		default:
			return t
		}
	}
}
