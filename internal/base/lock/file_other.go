//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package lock

import (
	"errors"
	"os"
)

const noFollow = 0

// File takes no lock: there are none here.
func File(*os.File) (bool, error) { return false, errors.ErrUnsupported }
