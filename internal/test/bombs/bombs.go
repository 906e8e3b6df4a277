// Package bombs makes hostile image files from structure: small files whose counts, sizes or references ask a reader
// for far more memory or work than their bytes. The pictures in them were made by encoders.
package bombs

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// File is a hostile file.
type File struct {
	Name string // with the extension of its format
	Make func() []byte
}

// Files returns all files, in a fixed order.
func Files() []File {
	return slices.Concat(listFiles(), propertyFiles(), repeatedPictureFiles(), referenceFiles(), boxFiles(),
		gridFiles(), sequenceFiles(),
		codestreamBombs(), tiffFiles(), otherFiles())
}

// Picture reads a file of the tests of package imaging: a path below its testdata.
func Picture(name string) []byte {
	_, here, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(here), "..", "..", "..", "data", "imaging", "testdata")
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		panic(err)
	}
	return b
}
