package data_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
)

// paint makes a picture of one colour.
func paint(r, g, b uint8) *imaging.Image {
	im := imaging.NewImage(8, 6, 3)
	for i := 0; i < len(im.Pix); i += 3 {
		im.Pix[i], im.Pix[i+1], im.Pix[i+2] = r, g, b
	}
	return im
}

// A folder of classes, from its files to batches.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "colours")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for i := range uint8(10) {
		for class, im := range map[string]*imaging.Image{
			"red": paint(250-i, 0, 0), "green": paint(0, 250-i, 0), "blue": paint(0, 0, 250-i),
			"grey": paint(100+i, 100+i, 100+i),
		} {
			if err := os.MkdirAll(filepath.Join(dir, class), 0o777); err != nil {
				log.Fatal(err)
			}
			f, err := os.Create(filepath.Join(dir, class, fmt.Sprintf("%d.png", i)))
			if err != nil {
				log.Fatal(err)
			}
			if err := errors.Join(png.Encode(f, im), f.Close()); err != nil {
				log.Fatal(err)
			}
		}
	}

	d, err := data.Open(ctx, dir, data.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	sel, err := split.Select(ctx, d, split.Selection{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.ReplaceAll(sel.Why, ", ", ",\n"))

	loader, err := data.NewLoader(sel.Train, data.LoaderConfig{
		Image: prepare.Config{Width: 4, Height: 4, Augment: prepare.Augment{Flip: 0.5}}, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	epoch := loader.Epoch(ctx, 0, [][]int{{0, 8, 16, 24}, {1, 9, 17, 25}})
	defer epoch.Close()
	for {
		batch, err := epoch.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d x %d x %d x %d:", batch.N, batch.H, batch.W, batch.C)
		for _, id := range batch.Label {
			fmt.Print(" ", sel.Train.LabelClasses[id])
		}
		fmt.Println()
	}
	// Output:
	// all 4 classes train (32 images),
	// and other images of the same classes are the test (8 images),
	// 20 % of each class at random,
	// as the set has no split of its own (data.split=classes keeps whole classes for the test)
	// 4 x 4 x 4 x 3: blue green grey red
	// 4 x 4 x 4 x 3: blue green grey red
}

// stripes is a Source: pictures that are computed when they are wanted.
type stripes struct{}

// Shape says that all pictures have one size.
func (stripes) Shape() (w, h, c int) { return 16, 16, 1 }

// Read draws upright stripes for even numbers, level ones for odd numbers.
func (stripes) Read(_ context.Context, i int, dst *imaging.Image, _ *imaging.Decoder) error {
	dst.Reset(16, 16, 1)
	for p := range dst.Pix {
		x, y := p%16, p/16
		dst.Pix[p] = uint8(255 * ([]int{x, y}[i%2] / 2 % 2))
	}
	return nil
}

// A data set of one's own: names, labels and a Source.
func ExampleNew() {
	var names, labels, shades []string
	for i := range 20 {
		names = append(names, fmt.Sprint("stripes ", i))
		labels = append(labels, []string{"upright", "level"}[i%2])
		shades = append(shades, []string{"light", "dark"}[i/10])
	}
	d, err := data.New("stripes", names, labels, stripes{})
	if err != nil {
		log.Fatal(err)
	}
	d.Columns = append(d.Columns, data.NewColumn("shade", shades)) // a second column, if you like
	sel, err := split.Select(context.Background(), d, split.Selection{Split: "images:0.2", Label: "shade",
		Validation: "images:0.25"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sel.Train.Len(), "train,", sel.Validation.Len(), "validate,", sel.Query.Len(), "test")
	fmt.Println(sel.Train.LabelClasses, sel.Train.FineClasses)
	// Output:
	// 12 train, 4 validate, 4 test
	// [dark light] [level upright]
}

// Files from memory, here a manifest and its pictures. An embed.FS works the
// same way.
func ExampleOpenFS() {
	var red, blue bytes.Buffer
	if err := errors.Join(png.Encode(&red, paint(255, 0, 0)), png.Encode(&blue, paint(0, 0, 255))); err != nil {
		log.Fatal(err)
	}
	files := fstest.MapFS{
		"red.png":      {Data: red.Bytes()},
		"blue.png":     {Data: blue.Bytes()},
		"manifest.csv": {Data: []byte("path,label\nred.png,warm\nblue.png,cold\n")},
	}
	d, err := data.OpenFS(context.Background(), files, "colours", data.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	part := d.All()
	for pos, i := range part.Index {
		fmt.Println(d.Names[i], part.LabelClasses[part.Label[pos]])
	}
	// Output:
	// red.png warm
	// blue.png cold
}

// Photos without labels: enough to embed them and to search.
func ExampleOpenFiles() {
	dir, err := os.MkdirTemp("", "photos")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"a.jpg", "b.jpg", "c.heic", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			log.Fatal(err)
		}
	}
	d, err := data.OpenFiles(context.Background(), []string{dir})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	fmt.Println(d.Len(), "photos")
	for _, l := range d.LeftOut {
		fmt.Println("left out", l.Count, l.Reason)
	}
	// Output:
	// 2 photos
	// left out 1 no decoder for HEIC ('kindred formats get heic' fetches one; or convert them to JPEG)
	// left out 1 not an image by its name (.txt)
}
