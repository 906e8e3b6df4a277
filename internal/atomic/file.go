// Package atomic replaces files so that a reader, or a crash, sees either the
// old content or the whole new one.
package atomic

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile calls write with a temporary file beside path, syncs it and renames
// it to path. On any error (a full disk, say) the temporary file is removed and
// what was at path stays as it was.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
