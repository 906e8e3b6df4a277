package regular

import (
	"fmt"
	"io/fs"
	"time"
)

// State tells one state of a file from every other that a file at its path has had: by its size and
// the time of its content, and by its inode and the time of its last change where the system has
// them. Anybody may set the first time, as cp -p does; nobody sets the last one.
func State(info fs.FileInfo) string {
	return fmt.Sprintf("%d bytes of %s%s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano),
		change(info.Sys()))
}
