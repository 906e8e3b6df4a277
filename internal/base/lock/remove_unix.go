//go:build !windows

package lock

import (
	"errors"
	"os"
)

// removeAndClose removes a locked file while it is still locked, so that it
// cannot be another's.
func removeAndClose(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }
