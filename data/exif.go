package data

import (
	"context"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// EXIF returns the EXIF data of the part's samples, in order. Values are zero for files without
// EXIF data and files that cannot be read. It returns nil unless every sample is a file in a folder or
// archive on this machine.
func (p *Part) EXIF(ctx context.Context) ([]imaging.EXIF, error) {
	f, ok := p.Data.Source.(*files)
	if !ok || !p.Data.HasLocalFiles() {
		return nil, nil
	}
	out := make([]imaging.EXIF, p.Len())
	err := par.ForContext(ctx, len(out), 64, func(lo, hi int) {
		var buf []byte
		for k := lo; k < hi && ctx.Err() == nil; k++ {
			b, err := f.head(p.Index[k], buf)
			if err == nil {
				out[k], buf = imaging.ReadEXIF(b), b
			}
		}
	})
	return out, err
}
