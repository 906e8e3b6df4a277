//go:build !windows

package atomic

import (
	"errors"
	"os"
	"syscall"
)

// SyncFolder makes the names in a folder survive a loss of power, if the file
// system supports that and the folder is readable.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrPermission) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
