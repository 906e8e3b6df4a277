package data

import (
	"context"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/internal/tree"
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
	f, ok := p.Data.Source.(*tree.Files)
	if !ok {
		return nil, nil
	}
	out := make([]Stat, p.Len())
	err := par.ForContext(ctx, len(out), 256, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			out[k] = Stat(f.Stat(p.Index[k]))
		}
	})
	return out, err
}

// HasLocalFiles reports whether every sample is an image file in a local folder or archive.
func (d *Dataset) HasLocalFiles() bool {
	_, ok := d.Source.(*tree.Files)
	return ok && !d.IsRemote()
}

// IsRemote reports whether files are read from neither a folder nor an archive on this machine.
func (d *Dataset) IsRemote() bool {
	f, ok := d.Source.(*tree.Files)
	return ok && f.IsRemote()
}

// EXIF returns the EXIF data of the part's samples, in order. Values are zero for files without
// EXIF data and files that cannot be read. It returns nil unless every sample is a file in a folder or
// archive on this machine.
func (p *Part) EXIF(ctx context.Context) ([]imaging.EXIF, error) {
	f, ok := p.Data.Source.(*tree.Files)
	if !ok || !p.Data.HasLocalFiles() {
		return nil, nil
	}
	out := make([]imaging.EXIF, p.Len())
	err := par.ForContext(ctx, len(out), 64, func(lo, hi int) {
		var buf []byte
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			b, err := f.Head(p.Index[k], buf)
			if err == nil {
				out[k], buf = imaging.ReadEXIF(b), b
			}
		}
	})
	return out, err
}
