package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0 // Windows has no such flag

// File locks an open file, without waiting. The lock ends when the file is
// closed or its process dies, however it dies. False without an error means
// that another open file has the lock.
func File(f *os.File) (bool, error) {
	// Locks keep others from reading what they cover: cover a byte beyond all
	// content.
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	} else if err != nil {
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return true, nil
}
