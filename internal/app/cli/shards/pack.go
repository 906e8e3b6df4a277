package shards

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/lock"
)

// pack writes the regular files below dir as a tar archive that depends on their
// names and contents alone. It leaves out locks.
func pack(w io.Writer, dir string) error {
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != lock.FileName {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, file := range files {
		if err := packFile(t, dir, file); err != nil {
			return err
		}
	}
	return t.Close()
}

func packFile(t *tar.Writer, dir, file string) error {
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return err
	}
	f, size, err := fileinfo.OpenSized(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o666, Size: size}); err != nil {
		return err
	}
	_, err = io.CopyN(t, f, size)
	return err
}

// maxFiles bounds an archive's number of files.
const maxFiles = 100_000

// unpack writes the files of an archive below dir. Each must fit into
// memory and stay in dir.
func unpack(r io.Reader, dir string) error {
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			// The contents are verified only at the end; see jobs.Files.
			_, err = io.Copy(io.Discard, r)
			return err
		} else if err != nil {
			return fmt.Errorf("an archive of a job: %w", err)
		}
		if n == maxFiles || h.Typeflag != tar.TypeReg || !fs.ValidPath(h.Name) || !filepath.IsLocal(h.Name) {
			return fmt.Errorf("an archive of a job has the name %.80q, which kindred does not write", h.Name)
		}
		if err := budget.Check(h.Name+" in an archive of a job", h.Size); err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(path.Dir(h.Name))), 0o777); err != nil {
			return err
		}
		if err := atomic.WriteFile(to, func(w io.Writer) error { _, err := io.Copy(w, t); return err }); err != nil {
			return err
		}
	}
}
