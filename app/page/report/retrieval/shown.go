package retrieval

import (
	"context"
	"image"
	"os"

	"github.com/kindred-ml/kindred/app/gallery"
	"github.com/kindred-ml/kindred/app/page/report"
	"github.com/kindred-ml/kindred/app/page/report/photo"
	"github.com/kindred-ml/kindred/data"
)

// Shown returns what the page in a file shows of photos: a link, if it is still there, and its picture. unread is told
// of the first that cannot be read any more. A name that is no file has no picture, and nobody is told.
func Shown(ctx context.Context, file string, unread func(name string, err error)) func(p gallery.Picture) (
	report.Picture, error) {
	told := false
	var set *data.Dataset
	var named func(name string) (image.Image, error)
	return func(p gallery.Picture) (out report.Picture, err error) {
		out = report.Picture{Name: p.Name, Label: p.Label}
		st, missing := os.Stat(p.Name)
		here := missing == nil && st.Mode().IsRegular()
		if here {
			out.Link = report.Link(file, p.Name)
		}
		if p.Data != nil && p.Data != set {
			if named, err = photo.Named(ctx, p.Data); err != nil {
				return out, err
			}
			set = p.Data
		}
		var img image.Image
		switch {
		case p.Data != nil:
			img, err = named(p.Sample)
		case here:
			img, err = photo.Files(ctx, []string{p.Name})(0)
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
