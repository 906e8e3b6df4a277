package quality

import (
	"context"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// MeasurePart measures the pictures of a part, in order. A Measure of a picture that cannot be read has an error.
// Look returns an error if the source of all pictures fails. progress, if not nil, is called with the
// number of pictures done.
func MeasurePart(ctx context.Context, p *data.Part, progress func(done, total int)) ([]Measure, error) {
	out := make([]Measure, p.Len())
	const piece = 512
	for lo := 0; lo < len(out); lo += piece {
		n := min(piece, len(out)-lo)
		err := par.ForContext(ctx, n, 16, func(a, b int) {
			var r Meter
			var im imaging.Image
			var dec imaging.Decoder
			for k := lo + a; k < lo+b; k++ {
				if err := p.Data.Image(ctx, p.Index[k], &im, &dec); err != nil {
					out[k].Err = err
					continue
				}
				out[k] = r.Measure(&im)
			}
		})
		if err != nil {
			return nil, err
		}
		for k := lo; k < lo+n; k++ {
			if err := out[k].Err; err != nil && data.IsFatal(err) {
				return nil, err
			}
		}
		if progress != nil {
			progress(lo+n, len(out))
		}
	}
	return out, nil
}
