package data

import (
	"image"
	"path/filepath"
)

// ListFiles makes a set without labels of the image files at paths, in their order. Unlike OpenFiles it leaves none
// out: a file need not exist yet nor have the ending of an image, and a path may occur several times, with different
// boxes. boxes is nil for whole images. The name of a sample is its path.
func ListFiles(name string, paths []string, boxes []image.Rectangle) *Dataset {
	b := newBuilder("files", name, OpenOptions{})
	for _, p := range paths {
		b.add(folder{}, filepath.ToSlash(p))
	}
	b.d.Boxes = boxes
	return b.d.mustBeConsistent()
}
