package atomic

import (
	"errors"
	"io"
	"os"
)

// Copy gives a complete, synced file that never changes a second name, on the same disk without copying its bytes.
// It is an error if path exists. Names become durable by SyncFolder, or by the next Write in the folder.
func (files Files) Copy(from, path string) error {
	if err := files.fault("create", path); err != nil {
		return err
	}
	// Trace knows no links.
	if files.Trace == nil {
		if err := os.Link(from, path); err == nil || errors.Is(err, os.ErrExist) || errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return files.Write(path, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
