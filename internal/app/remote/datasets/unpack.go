package datasets

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/app/remote/download"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// maxUnpacked bounds what an archive may write to the disk: many times the
// largest of the known sets.
const maxUnpacked = 16 << 30

// unpack writes the regular files of a gzip-compressed tar archive below dir.
// rename, if not nil, maps an entry's cleaned path to the one to write; ""
// leaves it out. Links and entries that would land outside dir are refused or
// left out: an archive can place files only below dir.
func unpack(ctx context.Context, archive, dir string, rename func(string) string) error {
	f, err := fileinfo.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: not a gzip file: %w", archive, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	tr := tar.NewReader(zr)
	room := int64(maxUnpacked)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := path.Clean(h.Name)
		if rename != nil {
			name = rename(name)
		}
		if name == "" {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s: entry %q leads outside the folder", archive, h.Name)
		}
		// The tar reader gives no more bytes than the entry announces.
		if h.Size > room {
			return fmt.Errorf("%s: entry %q of %s: the archive unpacks to more than %s", archive, h.Name,
				budget.Format(h.Size), budget.Format(maxUnpacked))
		}
		room -= h.Size
		if err := writeEntry(ctx, root, name, tr); err != nil {
			return fmt.Errorf("%s: entry %q: %w", archive, h.Name, err)
		}
	}
}

func writeEntry(ctx context.Context, root *os.Root, name string, r io.Reader) error {
	if d := filepath.Dir(name); d != "." {
		if err := root.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	w, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, download.NewContextReader(ctx, r)); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
