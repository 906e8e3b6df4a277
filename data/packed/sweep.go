package packed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// errSwept reports that another process took a temporary file for one of a dead
// process in the moment between its being made and its being held.
var errSwept = errors.New("the temporary file was removed")

// hold marks an open temporary file as that of a live process, for as long as
// it stays open: the mark goes with the process, however that ends.
func hold(f *os.File) error {
	if err := lock(f); err != nil {
		return fmt.Errorf("locking: %w", err)
	}
	there, err := os.Stat(f.Name())
	if errors.Is(err, os.ErrNotExist) {
		return errSwept
	}
	if err != nil {
		return err
	}
	mine, err := f.Stat()
	if err == nil && !os.SameFile(there, mine) {
		err = errSwept
	}
	return err
}

// sweep removes the temporary files in dir that no process holds. What it cannot
// remove stays: it is only in the way.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // what writes there next says so
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), ".pack.tmp-") {
			removeAbandoned(filepath.Join(dir, e.Name()))
		}
	}
}
