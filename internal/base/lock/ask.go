package lock

import (
	"errors"
	"os"
	"path/filepath"
)

// askName is the file in a folder whose lock asks for the folder's.
const askName = ".kindred.asked"

// Ask asks the process that has locked a folder to release it for a while, until the result is released or this
// process dies. Only one process at a time can ask: for another one the error is a *HeldError. A holder that does not
// look at IsAsked does not notice.
func Ask(dir string) (*Held, error) { return take(dir, askName) }

// IsAsked reports whether a process asks for a folder.
func IsAsked(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, askName)); err != nil {
		return false
	}
	h, err := take(dir, askName)
	if err == nil { // the process that asked was killed
		_ = h.Release()
		return false
	}
	var held *HeldError
	return errors.As(err, &held)
}
