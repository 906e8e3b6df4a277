//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package packed

import (
	"errors"
	"os"
	"syscall"

	"github.com/kindred-ml/kindred/internal/regular"
)

// lock takes the exclusive lock on f. File systems without locks let it pass:
// there nothing is swept either.
func lock(f *os.File) error {
	err := flock(f, syscall.LOCK_EX)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// removeAbandoned removes the file at path unless somebody holds its lock.
func removeAbandoned(path string) {
	f, err := regular.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		os.Remove(path)
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}
