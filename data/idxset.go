package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/layout/idx"
)

// IdxFiles are the four files of the MNIST family; each may end in ".gz".
func IdxFiles() []string {
	return []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
		"t10k-labels-idx1-ubyte"}
}

// FindIdx returns the path of the idx file in dir with the official name or one
// of its usual variants (.gz; a dot in place of the dash before "idx").
func FindIdx(dir, name string) (string, error) {
	dotted := name[:len(name)-len("-idx3-ubyte")] + "." + name[len(name)-len("idx3-ubyte"):]
	for _, n := range []string{name + ".gz", name, dotted + ".gz", dotted} {
		path := filepath.Join(dir, n)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: no file %s or %s.gz", dir, name, name)
}

func isIdx(dir string) bool {
	_, err := FindIdx(dir, IdxFiles()[0])
	return err == nil
}

// openIdx reads the four files of a folder. The fine column is called "digit"
// where the labels are 0 to 9, and "class" otherwise.
func openIdx(dir, name string) (*Dataset, error) {
	files := IdxFiles()
	source := &pixels{}
	d := &Dataset{Name: name, Layout: "idx", Source: source}
	var labels []int64
	for half, role := range []Split{Train, Test} {
		images, values, err := readIdxPair(dir, files[2*half], files[2*half+1])
		if err != nil {
			return nil, err
		}
		h, w := images.Dims[1], images.Dims[2]
		if source.w == 0 {
			source.w, source.h, source.c = w, h, 1
		}
		if w != source.w || h != source.h {
			return nil, fmt.Errorf("%s: %s has images of %d x %d pixels, %s of %d x %d", dir, files[0], source.w,
				source.h, files[2], w, h)
		}
		source.add(images.Data)
		for i, v := range values.Data {
			d.Names = append(d.Names, fmt.Sprintf("%s/%d", role, i))
			d.Splits = append(d.Splits, role)
			labels = append(labels, int64(v))
		}
	}
	column := columnOfNumbers("class", labels)
	if name == "fashion-mnist" {
		column.useNames([]string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
			"Bag", "Ankle boot"})
	} else if len(column.Classes) == 10 && column.Numbers[0] == 0 && column.Numbers[9] == 9 {
		column.Name = "digit"
	}
	d.Columns = []Column{column}
	d.Fine, d.Train = column.Name, column.Name
	return d.check(), nil
}

// useNames replaces numeric class names where there is a name for every number.
func (c *Column) useNames(names []string) {
	for id, n := range c.Numbers {
		if 0 <= n && n < int64(len(names)) {
			c.Classes[id] = names[n]
		}
	}
}

func readIdxPair(dir, imageName, labelName string) (images, labels *idx.Tensor, err error) {
	imagePath, err := FindIdx(dir, imageName)
	if err != nil {
		return nil, nil, err
	}
	labelPath, err := FindIdx(dir, labelName)
	if err != nil {
		return nil, nil, err
	}
	if images, err = idx.ReadFile(imagePath); err != nil {
		return nil, nil, err
	}
	if labels, err = idx.ReadFile(labelPath); err != nil {
		return nil, nil, err
	}
	if len(images.Dims) != 3 || images.Dims[0] == 0 || images.Dims[1] == 0 || images.Dims[2] == 0 {
		return nil, nil, fmt.Errorf("%s: dimensions %v; images need three, none of them 0", imagePath, images.Dims)
	}
	if len(labels.Dims) != 1 {
		return nil, nil, fmt.Errorf("%s: dimensions %v; labels need one", labelPath, labels.Dims)
	}
	if images.Dims[0] != labels.Dims[0] {
		return nil, nil,
			fmt.Errorf("%s has %d images but %s has %d labels", imagePath, images.Dims[0], labelPath, labels.Dims[0])
	}
	return images, labels, nil
}

// pixels is a Source of images of one shape, kept in memory as they were read.
type pixels struct {
	w, h, c int
	chunks  [][]uint8 // of whole images each
	starts  []int     // number of the first image of each chunk
	n       int
}

func (p *pixels) add(pix []uint8) {
	p.chunks = append(p.chunks, pix)
	p.starts = append(p.starts, p.n)
	p.n += len(pix) / (p.w * p.h * p.c)
}

func (p *pixels) Shape() (w, h, c int) { return p.w, p.h, p.c }

func (p *pixels) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	k := len(p.starts) - 1
	for p.starts[k] > i {
		k--
	}
	size := p.w * p.h * p.c
	dst.Reset(p.w, p.h, p.c)
	copy(dst.Pix, p.chunks[k][(i-p.starts[k])*size:])
	return nil
}
