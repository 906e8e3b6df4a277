//go:build !windows

package atomic

import (
	"errors"
	"os"
	"syscall"
)

// SyncFolder makes the names in a folder outlive a loss of power, where the file
// system can do that and the folder may be read.
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
