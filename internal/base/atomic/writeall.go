package atomic

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// WriteAll writes files into a folder by their names there, with / between folders, which are
// made. Each file is replaced whole, in the order of the names; an error leaves the rest as
// it was.
func WriteAll(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := WriteFile(path, Bytes(files[name])); err != nil {
			return err
		}
	}
	return nil
}
