package layout

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/format/idx"
)

// readIdxSet reads the four files of a folder. The fine column is called "digit" if the labels are 0
// to 9, and "class" otherwise.
func readIdxSet(ctx context.Context, s *Set) error {
	files := idx.Files()
	s.Pixels = new(pixels)
	column := Column{Name: "class"}
	for half := range 2 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", s.tree.Location(), err)
		}
		images, values, err := readIdxPair(s.tree, files[2*half], files[2*half+1])
		if err != nil {
			return err
		}
		h, w, p := images.Dims[1], images.Dims[2], s.Pixels
		if p.w == 0 {
			p.w, p.h, p.c = w, h, 1
		}
		if w != p.w || h != p.h {
			return fmt.Errorf("%s: %s has images of %d x %d pixels, %s of %d x %d", s.tree.Location(), files[0], p.w,
				p.h, files[2], w, h)
		}
		p.add(images.Data)
		for i, v := range values.Data {
			s.addNumbered(half, i)
			column.Numbers = append(column.Numbers, int64(v))
		}
	}
	different := slices.Compact(slices.Sorted(slices.Values(column.Numbers)))
	if s.Name == "fashion-mnist" {
		column.Names = numberNames(0, []string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal",
			"Shirt", "Sneaker", "Bag", "Ankle boot"})
	} else if len(different) == 10 && different[0] == 0 && different[9] == 9 {
		column.Name = "digit"
	}
	s.setLabels(column.Name, column, Column{})
	return nil
}

// addNumbered appends sample i of a half, whose pixels are in memory.
func (s *Set) addNumbered(half, i int) {
	s.Names = append(s.Names, []string{"train/", "test/"}[half]+strconv.Itoa(i))
	s.Roles = append(s.Roles, trainTest(half))
}

func readIdxPair(t *listing, imageName, labelName string) (images, labels *idx.Tensor, err error) {
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
func readIdx(t *listing, name string) (tensor *idx.Tensor, path string, err error) {
	names := idx.Variants(name)
	i := slices.IndexFunc(names, t.Has)
	if i < 0 {
		return nil, "", idx.MissingError(t.Location(), name)
	}
	path = t.Location() + "/" + names[i]
	r, err := openWhole(t, names[i])
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
func openWhole(t *listing, name string) (io.ReadCloser, error) {
	if f, ok := tree.AsFolder(t.Tree); ok {
		return f.Open(name)
	}
	content, err := t.Read(name, nil)
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
