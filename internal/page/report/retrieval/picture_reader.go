package retrieval

import (
	"context"
	"image"
	"os"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
)

// PictureReader returns a function for a page in a file, which returns the link and the picture of a photo.
// A photo that does not exist any more has no link. unread is called for the first photo that cannot be
// read. A name that is not a file has no picture, without a call of unread.
func PictureReader(ctx context.Context, file string, unread func(name string, err error)) func(p lookup.Picture) (
	report.Picture, error) {
	told := false
	var set *data.Dataset
	var named func(name string) (image.Image, error)
	return func(p lookup.Picture) (out report.Picture, err error) {
		out = report.Picture{Name: embedding.Item{Path: p.Name, Region: p.Region}.Name(), Label: p.Label}
		st, missing := os.Stat(p.Name)
		here := missing == nil && st.Mode().IsRegular()
		if here {
			out.Link = report.RelativeLink(file, p.Name)
		}
		if p.Data != nil && p.Data != set {
			if named, err = photo.NewNameReader(ctx, p.Data); err != nil {
				return out, err
			}
			set = p.Data
		}
		var img image.Image
		switch {
		case p.Data != nil:
			img, err = named(p.Sample)
		case here:
			img, err = photo.NewFileReader(ctx, embedding.Item{Path: p.Name, Region: p.Region})(0)
		default:
			return out, ctx.Err()
		}
		if err == nil {
			out.Image = img
		} else if ctx.Err() == nil && !told {
			unread(p.Name, err)
			told = true
		}
		return out, ctx.Err()
	}
}
