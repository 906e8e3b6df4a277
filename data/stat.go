package data

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Stat describes the file of a sample.
type Stat struct {
	// Path is the file's absolute path; "" if the sample is in an archive or not a separate file on
	// this machine.
	Path string
	// Size is in bytes. Modified is zero if it is unknown, as in archives.
	Size     int64
	Modified time.Time
	// Err is set if nothing is known about the file.
	Err error
}

// Stats returns the Stat of the files of the part's samples, in order, without opening them. It returns
// nil for a set whose samples are not separate files, such as rows of an idx file.
func (p *Part) Stats(ctx context.Context) ([]Stat, error) {
	f, ok := p.Data.Source.(*files)
	if !ok {
		return nil, nil
	}
	out := make([]Stat, p.Len())
	err := par.ForContext(ctx, len(out), 256, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			at := f.list[p.Index[k]]
			out[k] = at.tree.stat(at.name)
		}
	})
	return out, err
}

func (f folder) stat(name string) Stat {
	path := f.path(name)
	info, err := f.in.Stat(path)
	if err != nil {
		return Stat{Err: err}
	}
	if path, err = filepath.Abs(path); err != nil {
		return Stat{Err: err}
	}
	return Stat{Path: path, Size: info.Size(), Modified: info.ModTime()}
}

func (a *archive) stat(name string) Stat {
	f := a.files[name]
	if f == nil {
		return Stat{Err: fs.ErrNotExist}
	}
	return Stat{Size: int64(f.UncompressedSize64)}
}

func (s *shardedTree) stat(name string) Stat {
	i, err := s.find(name)
	if err != nil {
		return Stat{Err: err}
	}
	return Stat{Size: s.images.size(i)}
}

func (s subtree) stat(name string) Stat { return s.tree.stat(s.dir + "/" + name) }

func (s fsTree) stat(name string) Stat {
	info, err := fs.Stat(s.files, name)
	if err != nil {
		return Stat{Err: err}
	}
	return Stat{Size: info.Size(), Modified: info.ModTime()}
}

// HasLocalFiles reports whether every sample is an image file in a local folder or archive.
func (d *Dataset) HasLocalFiles() bool {
	_, ok := d.Source.(*files)
	return ok && !d.IsRemote()
}

// IsRemote reports whether files are read from neither a folder nor an archive on this machine.
func (d *Dataset) IsRemote() bool {
	f, ok := d.Source.(*files)
	return ok && slices.ContainsFunc(f.list, func(at file) bool {
		_, remote := baseTree(at.tree).(fsTree)
		return remote
	})
}
