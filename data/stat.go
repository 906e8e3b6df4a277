package data

import (
	"context"
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
			out[k] = Stat(f.stat(p.Index[k]))
		}
	})
	return out, err
}

// HasLocalFiles reports whether every sample is an image file in a local folder or archive.
func (d *Dataset) HasLocalFiles() bool {
	_, ok := d.Source.(*files)
	return ok && !d.IsRemote()
}

// IsRemote reports whether files are read from neither a folder nor an archive on this machine.
func (d *Dataset) IsRemote() bool {
	f, ok := d.Source.(*files)
	return ok && f.isRemote()
}
