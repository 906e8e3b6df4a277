package idx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files are the four files of the MNIST family; each may end in ".gz".
func Files() []string {
	return []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
		"t10k-labels-idx1-ubyte"}
}

// Variants returns the usual names of the file with that official one, in the
// order in which they are looked for: with .gz or not, and with a dot in place of
// the dash before "idx".
func Variants(name string) []string {
	dotted := name[:len(name)-len("-idx3-ubyte")] + "." + name[len(name)-len("idx3-ubyte"):]
	return []string{name + ".gz", name, dotted + ".gz", dotted}
}

// Find returns the path of the idx file in dir with the official name or one of
// its Variants.
func Find(dir, name string) (string, error) {
	for _, n := range Variants(name) {
		path := filepath.Join(dir, n)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", MissingError(dir, name)
}

// MissingError is the error of a file that is in dir under none of its names.
func MissingError(dir, name string) error {
	return fmt.Errorf("%s: no file %s or %s.gz", dir, name, name)
}
