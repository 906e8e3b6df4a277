package fileinfo

import (
	"fmt"
	"io/fs"
	"time"
)

// State returns a text that differs for any two states of the file at a path. It has the size and
// the modification time, and the inode and the time of the last change where the system has
// them. Programs can set the modification time, as cp -p does, but not the time of the last change.
func State(info fs.FileInfo) string {
	return fmt.Sprintf("%d bytes of %s%s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano),
		changeID(info.Sys()))
}
