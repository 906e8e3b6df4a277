package lock

import (
	"errors"
	"os"
	"path/filepath"
)

// requestName is the file in a folder whose lock asks for the folder's.
const requestName = ".kindred.asked"

// RequestRelease asks the process that has locked a folder to release it for a while, until the result is
// released or this process dies. Only one process at a time can ask: for another one the error is a
// *HeldError. A holder that does not look at IsReleaseRequested does not notice.
func RequestRelease(dir string) (*Held, error) { return lockFile(dir, requestName) }

// IsReleaseRequested reports whether a process asks for a folder.
func IsReleaseRequested(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, requestName)); err != nil {
		return false
	}
	h, err := lockFile(dir, requestName)
	if err == nil { // the process that asked was killed
		_ = h.Release()
		return false
	}
	var held *HeldError
	return errors.As(err, &held)
}
