//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package lock

import (
	"errors"
	"os"
	"syscall"
)

// noFollow opens no symbolic link.
const noFollow = syscall.O_NOFOLLOW

// File locks an open file, without waiting. The lock ends when the file is
// closed or its process dies, however it dies. False without an error means
// that another open file has the lock; errors.ErrUnsupported means that the
// file system has no locks.
func File(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL):
			return false, errors.ErrUnsupported
		default:
			return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}
