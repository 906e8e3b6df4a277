package atomic

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Prepare makes the folders of the given paths and checks that Write could write the
// files, so that a long computation fails before it starts. It does not change the files
// themselves.
func Prepare(paths ...string) error {
	for _, path := range paths {
		if err := prepare(path); err != nil {
			return fmt.Errorf("%s cannot be written: %w", path, err)
		}
	}
	return nil
}

func prepare(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	target, old, err := resolve(path)
	if err != nil {
		return err
	}
	switch {
	case old == nil:
	case old.IsDir():
		return &os.PathError{Op: "open", Path: target, Err: syscall.EISDIR}
	case !old.Mode().IsRegular(): // written into, when there is something to write
		return nil
	}
	f, err := (Files{}).create(target, 0o666)
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
