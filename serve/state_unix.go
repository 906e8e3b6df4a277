//go:build unix

package serve

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stateOf tells one state of an open file from every other that a file at its path has had.
// Unlike the time of its content, nobody sets the time of its last change.
func stateOf(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return fmt.Sprint(st.Dev, " ", st.Ino, " ", st.Size, " ", st.Mtim, " ", st.Ctim), nil
}
