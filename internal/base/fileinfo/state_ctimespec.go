//go:build darwin || freebsd || netbsd

package fileinfo

import (
	"fmt"
	"syscall"
)

// changeID is the inode of a file and the time of its last change; "": not known, as of a file in an
// archive.
func changeID(sys any) string {
	if st, ok := sys.(*syscall.Stat_t); ok {
		return fmt.Sprint(", ", st.Ino, " ", st.Ctimespec)
	}
	return ""
}
