package retrieval

import (
	"context"
	"image"
	"os"

	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/page/report/photo"
)

// Shown returns what the page in a file shows of each photo: a link, if it is still there,
// and its picture. unread is told of the first that cannot be read any more.
func (p *Photos) Shown(ctx context.Context, file string, unread func(name string, err error)) func(i int) (
	report.Picture, error) {
	show := shown(ctx, file, unread)
	return func(i int) (report.Picture, error) {
		var read func() (image.Image, error)
		if p.Picture != nil {
			read = func() (image.Image, error) { return p.Picture(i) }
		}
		out, err := show(p.Path(i), read)
		out.Label = p.Label(i)
		return out, err
	}
}

// ShownFiles returns what the page in a file shows of the files that names say, as Shown does.
// A name that is no file has no picture, and nobody is told.
func ShownFiles(ctx context.Context, file string, unread func(name string, err error)) func(name string) (
	report.Picture, error) {
	show := shown(ctx, file, unread)
	return func(name string) (report.Picture, error) {
		var read func() (image.Image, error)
		if isFile(name) {
			read = func() (image.Image, error) { return photo.Files(ctx, []string{name})(0) }
		}
		return show(name, read)
	}
}

// shown shows photos by their names; read reads the picture of one, nil: there is none.
func shown(ctx context.Context, file string, unread func(name string, err error)) func(name string,
	read func() (image.Image, error)) (report.Picture, error) {
	told := false
	return func(name string, read func() (image.Image, error)) (report.Picture, error) {
		out := report.Picture{Name: name}
		if isFile(name) {
			out.Link = report.Link(file, name)
		}
		if read == nil {
			return out, ctx.Err()
		}
		img, err := read()
		if err == nil {
			out.Image = img
		} else if ctx.Err() == nil && !told {
			unread(name, err)
			told = true
		}
		return out, ctx.Err()
	}
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}
