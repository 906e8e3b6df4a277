package data

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// rangeFile is an open file; any range of it can be read.
type rangeFile struct {
	io.ReaderAt
	io.Closer
	size int64
	// state identifies the file's content, by fileinfo.State or by its server. It is "" if unknown.
	state string
}

// openRanged opens a file of t for reading by ranges.
func openRanged(t tree, name string) (*rangeFile, error) {
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
		return &rangeFile{f, f, info.Size(), fileState(info)}, nil
	case fsTree:
		return t.openRanged(name)
	case subtree:
		return openRanged(t.tree, t.dir+"/"+name)
	case shardSelection:
		return openRanged(t.tree, name)
	}
	return nil, fmt.Errorf("%s: %s is a shard within an archive, so ranges of it cannot be read: unpack the "+
		"archive", t.location(), name)
}

// fileState returns the state of a file, or "" if its time is unknown.
func fileState(info fs.FileInfo) string {
	if info.ModTime().IsZero() {
		return ""
	}
	return fileinfo.State(info)
}

func (s fsTree) openRanged(name string) (*rangeFile, error) {
	full := s.name + "/" + name
	f, err := s.files.Open(name)
	if err != nil {
		return nil, withName(s.name, err)
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
	r := &rangeFile{at, f, info.Size(), fileState(info)}
	if known, ok := s.files.(interface {
		Digest(name string) (string, error)
	}); ok {
		sum, err := known.Digest(name)
		if err != nil {
			f.Close()
			return nil, withName(s.name, err)
		}
		if sum != "" {
			r.state = sum
		}
	}
	return r, nil
}

// isRemote reports whether t is neither a folder nor an archive on this machine.
func isRemote(t tree) bool {
	_, remote := baseTree(t).(fsTree)
	return remote
}

// baseTree returns the folder, archive or file system that t is a part of.
func baseTree(t tree) tree {
	for {
		switch at := t.(type) {
		case subtree:
			t = at.tree
		case shardSelection:
			t = at.tree
		case *shardedTree:
			t = at.base
		default:
			return t
		}
	}
}
