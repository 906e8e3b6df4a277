package atomic

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// TrackChanges returns a function that removes everything made in a folder from now on: the folder with the
// folders above it that are missing now or, if it exists, the new files whose names ours
// accepts. It is for commands that fill a folder step by step and may fail.
func TrackChanges(dir string, ours func(name string) bool) (undo func() error, err error) {
	dir = filepath.Clean(dir)
	there, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above := MissingFolders(filepath.Dir(dir))
		return func() error {
			err := os.RemoveAll(dir)
			for _, folder := range above {
				_ = os.Remove(folder) // fails if others put files there
			}
			return err
		}, nil
	case err != nil:
		return nil, err
	}
	old := make(map[string]bool)
	for _, e := range there {
		old[e.Name()] = true
	}
	return func() error {
		now, err := os.ReadDir(dir)
		for _, e := range now {
			if !old[e.Name()] && ours(e.Name()) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
			}
		}
		return err
	}, nil
}

// MissingFolders lists a folder and those above it that are not there, the lowest first.
func MissingFolders(dir string) (all []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}
