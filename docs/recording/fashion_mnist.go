package main

import (
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/format/idx"
)

// fashion is where Debian's package dataset-fashion-mnist has its files.
const fashion = "/usr/share/datasets/fashion-mnist"

// names are the classes of Fashion-MNIST.
var names = [...]string{"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
	"ankle boot"}

const perClass = 200

// writeClothes writes the photos, and a query photo from the test set.
func writeClothes(dir string) error {
	x, y, err := readPart("train")
	if err != nil {
		return fmt.Errorf("%w (apt-get install dataset-fashion-mnist, or give -photos)", err)
	}
	written := map[byte]int{}
	for i, k := range y.Data {
		if written[k] == perClass {
			continue
		}
		path := filepath.Join(dir, "photos", names[k], fmt.Sprintf("%04d.png", written[k]))
		if err := savePicture(path, x, i, png.Encode); err != nil {
			return err
		}
		written[k]++
	}
	if x, y, err = readPart("t10k"); err != nil {
		return err
	}
	for i, k := range y.Data {
		if names[k] == "ankle boot" {
			return savePicture(filepath.Join(dir, "photo.jpg"), x, i, func(w io.Writer, m image.Image) error {
				return jpeg.Encode(w, m, &jpeg.Options{Quality: 95})
			})
		}
	}
	return errors.New("no boot among the test photos")
}

func readPart(part string) (x, y *idx.Tensor, err error) {
	if x, err = idx.ReadFile(filepath.Join(fashion, part+"-images-idx3-ubyte.gz")); err != nil {
		return nil, nil, err
	}
	y, err = idx.ReadFile(filepath.Join(fashion, part+"-labels-idx1-ubyte.gz"))
	return x, y, err
}

func savePicture(path string, x *idx.Tensor, i int, encode func(io.Writer, image.Image) error) error {
	h, w := x.Dims[1], x.Dims[2]
	m := image.NewGray(image.Rect(0, 0, w, h))
	copy(m.Pix, x.Data[i*h*w:(i+1)*h*w])
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(encode(f, m), f.Close())
}
