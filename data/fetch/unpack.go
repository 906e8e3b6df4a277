package fetch

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
)

// unpack writes the regular files of a gzip-compressed tar archive below dir.
// rename, if not nil, maps an entry's cleaned path to the one to write; ""
// leaves it out. Links and entries that would land outside dir are refused or
// left out: an archive can place files only below dir.
func unpack(ctx context.Context, archive, dir string, rename func(string) string) error {
	f, err := os.Open(archive)
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
		if err := writeEntry(root, name, tr); err != nil {
			return fmt.Errorf("%s: entry %q: %w", archive, h.Name, err)
		}
	}
}

func writeEntry(root *os.Root, name string, r io.Reader) error {
	if d := filepath.Dir(name); d != "." {
		if err := root.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	w, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
