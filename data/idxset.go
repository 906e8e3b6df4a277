package data

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/format/idx"
)

// findIdx returns the name in t of the file with the given official name, or "" if none of its
// usual names occurs.
func findIdx(t tree, name string) string {
	for _, n := range idx.Variants(name) {
		if t.has(n) {
			return n
		}
	}
	return ""
}

func isIdx(_ context.Context, t tree) bool { return findIdx(t, idx.Files()[0]) != "" }

// openIdx reads the four files of a folder. The fine column is called "digit" if the labels are 0
// to 9, and "class" otherwise.
func openIdx(ctx context.Context, t tree, name string, _ OpenOptions) (*Dataset, error) {
	files := idx.Files()
	source := &pixels{}
	d := &Dataset{Name: name, Layout: "idx", Source: source}
	var labels []int64
	for half, role := range []Split{Train, Test} {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", t.location(), err)
		}
		images, values, err := readIdxPair(t, files[2*half], files[2*half+1])
		if err != nil {
			return nil, err
		}
		h, w := images.Dims[1], images.Dims[2]
		if source.w == 0 {
			source.w, source.h, source.c = w, h, 1
		}
		if w != source.w || h != source.h {
			return nil, fmt.Errorf("%s: %s has images of %d x %d pixels, %s of %d x %d", t.location(), files[0],
				source.w,
				source.h, files[2], w, h)
		}
		source.add(images.Data)
		for i, v := range values.Data {
			d.Names = append(d.Names, fmt.Sprintf("%s/%d", role, i))
			d.Splits = append(d.Splits, role)
			labels = append(labels, int64(v))
		}
	}
	column := newNumberColumn("class", labels)
	if name == "fashion-mnist" {
		column.useNames([]string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
			"Bag", "Ankle boot"})
	} else if len(column.Classes) == 10 && column.Numbers[0] == 0 && column.Numbers[9] == 9 {
		column.Name = "digit"
	}
	d.Columns = []Column{column}
	d.Fine, d.Train = column.Name, column.Name
	return d.mustBeConsistent(), nil
}

// useNames replaces numeric class names if there is a name for every number.
func (c *Column) useNames(names []string) {
	for id, n := range c.Numbers {
		if 0 <= n && n < int64(len(names)) {
			c.Classes[id] = names[n]
		}
	}
}

func readIdxPair(t tree, imageName, labelName string) (images, labels *idx.Tensor, err error) {
	images, imagePath, err := readIdx(t, imageName)
	if err != nil {
		return nil, nil, err
	}
	labels, labelPath, err := readIdx(t, labelName)
	if err != nil {
		return nil, nil, err
	}
	if len(images.Dims) != 3 || images.Dims[0] == 0 || images.Dims[1] == 0 || images.Dims[2] == 0 {
		return nil, nil, fmt.Errorf("%s has dimensions %v: images need three dimensions above 0", imagePath,
			images.Dims)
	}
	if len(labels.Dims) != 1 {
		return nil, nil, fmt.Errorf("%s has dimensions %v: labels need one dimension", labelPath, labels.Dims)
	}
	if images.Dims[0] != labels.Dims[0] {
		return nil, nil,
			fmt.Errorf("%s has %d images but %s has %d labels", imagePath, images.Dims[0], labelPath, labels.Dims[0])
	}
	return images, labels, nil
}

// readIdx reads the file of t with the given official name; path is for messages.
func readIdx(t tree, name string) (tensor *idx.Tensor, path string, err error) {
	found := findIdx(t, name)
	if found == "" {
		return nil, "", idx.MissingError(t.location(), name)
	}
	path = t.location() + "/" + found
	r, err := openWhole(t, found)
	if err != nil {
		return nil, path, err
	}
	defer r.Close()
	if tensor, err = idx.Read(r); err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	return tensor, path, nil
}

// openWhole opens a file of t for reading from beginning to end. A file on disk is not read into
// memory.
func openWhole(t tree, name string) (io.ReadCloser, error) {
	if f, ok := asFolder(t); ok {
		return f.in.Open(f.path(name))
	}
	content, err := t.read(name, nil)
	return io.NopCloser(bytes.NewReader(content)), err
}

// pixels is a Source of images of one shape, which are kept in memory.
type pixels struct {
	w, h, c int
	chunks  [][]uint8 // each chunk holds whole images
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
