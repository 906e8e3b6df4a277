package data

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
)

// What a seed draws, as it was when this test was written: runs repeat only if
// it stays.
func TestSeedsKeepTheirMeaning(t *testing.T) {
	for at, want := range map[[3]int]uint64{{0, 0, 0}: 0x238275bc38fcbe91, {1, 0, 0}: 0xb18a02f46d8d86c3,
		{0, 1, 0}: 0x94926c2e801cb6f9, {2, 3, 1}: 0x9ccd1aa6d5e839b5} {
		if got := sampleSeed(at[0], at[1], uint64(at[2])); got != want {
			t.Errorf("sample seed of %v: %#x, want %#x", at, got, want)
		}
	}
}

const maxCoordinate = 1 << 24 // of coordinates

// Boxes of manifests: coordinates from 0 to just below 2^24, and an area.
func TestManifestBoxes(t *testing.T) {
	for box, want := range map[string]string{
		"0,0,1,1": "(0,0)-(1,1)", "1.9,2.2,3.1,4": "(1,2)-(3,4)", ",,,": "(0,0)-(0,0)",
		fmt.Sprintf("0,0,%d,%d", maxCoordinate-1, maxCoordinate-1): "(0,0)-(16777215,16777215)",
		fmt.Sprintf("0,0,%d,1", maxCoordinate):                     "is not a coordinate",
		fmt.Sprintf("0,%d,1,1", maxCoordinate):                     "is not a coordinate",
		"-1,0,1,1":                                                 "is not a coordinate",
		"0,nan,1,1":                                                "is not a coordinate",
		"1,0,1,1":                                                  "has no area",
		"0,1,1,1":                                                  "has no area",
		"2,0,1,1":                                                  "has no area",
		"0,2,1,1":                                                  "has no area",
		"0,0,1,":                                                   "has no area",
		",0,1,1":                                                   "has no area",
		"0,,,":                                                     "has no area",
	} {
		dir := layoutFiles{"manifest.csv": []byte("path,label,x_1,y_1,x_2,y_2\na.png,x," + box + "\n")}.folder(t)
		d, err := Open(t.Context(), dir, OpenOptions{})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = d.Boxes[0].String()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", box, got, want)
		}
	}
}

func TestCUBBoxes(t *testing.T) {
	boxes := func(line string) ([]image.Rectangle, error) {
		l := cubFiles(t, " ")
		l["bounding_boxes.txt"] = []byte(line + "\n")
		d, err := Open(t.Context(), l.folder(t), OpenOptions{Crop: true})
		if err != nil {
			return nil, err
		}
		return d.Boxes, nil
	}
	for line, want := range map[string]image.Rectangle{
		"1 0 0 1 1": image.Rect(0, 0, 1, 1), "1 1.5 2.5 3 4": image.Rect(1, 2, 4, 6),
		"1 10, 20, 30, 40":                         image.Rect(10, 20, 40, 60),
		fmt.Sprintf("1 %d 0 1 1", maxCoordinate-1): image.Rect(maxCoordinate-1, 0, maxCoordinate, 1),
	} {
		if got, err := boxes(line); err != nil || got[0] != want || !got[1].Empty() || len(got) != 4 {
			t.Errorf("%s: %v, %v", line, got, err)
		}
	}
	for _, line := range []string{fmt.Sprintf("1 %d 0 1 1", maxCoordinate), "1 -1 0 1 1", "1 0 0 x 1", "1 0 0 1",
		"1 0 0 1 1 1"} {
		if _, err := boxes(line); err == nil || !strings.Contains(err.Error(), "bounding_boxes.txt:1") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestCarsBounds(t *testing.T) {
	box := func(row string) (image.Rectangle, error) {
		l := carsCSV(t)
		l["anno_train.csv"] = []byte(row + "\n")
		d, err := Open(t.Context(), l.folder(t), OpenOptions{Crop: true})
		if err != nil {
			return image.Rectangle{}, err
		}
		return d.Boxes[0], nil
	}
	for row, want := range map[string]image.Rectangle{
		"a.png,1,1,1,1,1": image.Rect(0, 0, 1, 1), "a.png,0,2,3,4,0": image.Rect(-1, 1, 3, 4),
		fmt.Sprintf("a.png,1,1,%d,%d,1", maxCoordinate, maxCoordinate): image.Rect(0, 0, maxCoordinate, maxCoordinate),
	} {
		if got, err := box(row); err != nil || got != want {
			t.Errorf("%s: %v, %v", row, got, err)
		}
	}
	for row, want := range map[string]string{
		fmt.Sprintf("a.png,1,1,%d,1,1", maxCoordinate+1): "is not a coordinate",
		"a.png,-1,1,1,1,1": "is not a coordinate",
		"'',1,1,1,1,1":     "no file name", "a.png,1,1,1,1,x": "class:",
	} {
		if _, err := box(row); err == nil || !strings.Contains(err.Error(), "anno_train.csv:1: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", row, err)
		}
	}
	// A box that MATLAB lacks is no error; the image is then used whole.
	l := carsSingle(t)
	l["cars_annos.mat"] = matFile(matStruct("annotations", []string{"relative_im_path", "class", "test"},
		[]any{"car_ims/000001.png", 1, 0}), matCells("class_names", "Hummer"))
	d, err := Open(t.Context(), l.folder(t), OpenOptions{Crop: true})
	if err != nil || !d.Boxes[0].Empty() {
		t.Fatalf("%v", err)
	}
	readable(t, d)
	// Class 1 is the first name, a class beyond the names its number.
	l["cars_annos.mat"] = matFile(matStruct("annotations", []string{"relative_im_path", "class", "test"},
		[]any{"car_ims/000001.png", 1, 0}, []any{"car_ims/000002.png", 2, 0}, []any{"car_ims/000003.png", 3, 1}),
		matCells("class_names", "Hummer", "Acura"))
	c, err := open(t, l.folder(t)).Column("class")
	if err != nil || !slices.Equal(c.Classes, []string{"Hummer", "Acura", "3"}) ||
		!slices.Equal(c.Numbers, []int64{1, 2, 3}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// Columns know their roles; numbers start at 1 where the set has none.
func TestColumns(t *testing.T) {
	d := toyDataset(3, 2)
	c := &d.Columns[0]
	if c.Number(0) != 1 || c.Number(2) != 3 || !slices.Equal(c.Counts(), []int{2, 2, 2}) {
		t.Errorf("%d %d %v", c.Number(0), c.Number(2), c.Counts())
	}
	d.Columns = append(d.Columns, NewColumn("kind", []string{"a", "a", "a", "a", "b", "b"}))
	d.Coarse, d.Train = "kind", "kind"
	for name, want := range map[string]string{"": "kind", "fine": "class", "coarse": "kind", "class": "class",
		"kind": "kind"} {
		if got, err := d.Column(name); err != nil || got.Name != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	for s, want := range map[Split]string{0: "none", Train: "train", Test: "test", Query: "query", Gallery: "gallery",
		Train | Test: "train+test", Train | Query: "train+query"} {
		if s.String() != want {
			t.Errorf("%d is %s", s, s)
		}
	}
	if got := splitClassesInHalf(&toyDataset(5,
		1).Columns[0]); !slices.Equal(got, []Split{Train, Train, Test, Test, Test}) {
		t.Errorf("%v", got)
	}
}

// check finds every part of another length.
func TestCheck(t *testing.T) {
	for name, damage := range map[string]func(*Dataset){
		"splits":       func(d *Dataset) { d.Splits = make([]Split, 1) },
		"image splits": func(d *Dataset) { d.ImageSplits = make([]Split, 1) },
		"boxes":        func(d *Dataset) { d.Boxes = make([]image.Rectangle, 1) },
		"ids":          func(d *Dataset) { d.Columns[0].IDs = nil }, "source": func(d *Dataset) { d.Source = nil },
	} {
		d := toyDataset(2, 2)
		damage(d)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			d.mustBeConsistent()
		}()
	}
	d := toyDataset(2, 2)
	d.Splits, d.ImageSplits, d.Boxes = make([]Split, 4), make([]Split, 4), make([]image.Rectangle, 4)
	d.mustBeConsistent()
}

// A box is cut to the image, and one beside it is an error.
func TestImageBoxes(t *testing.T) {
	d := countedPart(3, &counted{w: 8, h: 6}).Data
	d.Boxes = []image.Rectangle{image.Rect(-3, 2, 5, 100), {}, image.Rect(8, 0, 9, 1)}
	var im imaging.Image
	if err := d.Image(t.Context(), 0, &im, nil); err != nil || im.W != 5 || im.H != 4 {
		t.Errorf("%d x %d, %v", im.W, im.H, err)
	}
	if err := d.Image(t.Context(), 1, &im, nil); err != nil || im.W != 8 || im.H != 6 {
		t.Errorf("%d x %d, %v", im.W, im.H, err)
	}
	if err := d.Image(t.Context(), 2, &im, nil); err == nil ||
		!strings.Contains(err.Error(), "lies outside the image of 8 x 6 pixels") {
		t.Errorf("%v", err)
	}
}

func TestWaitShare(t *testing.T) {
	for _, c := range []struct {
		s    Stats
		want float64
	}{{Stats{}, 0}, {Stats{Waited: time.Second, Total: 4 * time.Second}, 0.25}, {Stats{Waited: 1, Total: 1}, 1},
		{Stats{Waited: 1, Total: -1}, 0}} {
		if got := c.s.WaitShare(); got != c.want {
			t.Errorf("%+v: %g", c.s, got)
		}
	}
}

// The cache reduces the shorter side and no smaller image, and keeps shapes.
func TestCacheSides(t *testing.T) {
	l := layoutFiles{"a/wide.png": picture(t, 40, 20, 1), "a/high.png": picture(t, 9, 31, 2),
		"b/small.png": picture(t, 10, 10, 3), "b/line.png": gradient(t, 300, 12)}
	d := open(t, l.folder(t))
	want := map[string][2]int{"a/wide.png": {20, 10}, "a/high.png": {9, 31}, "b/small.png": {10, 10},
		"b/line.png": {250, 10}}
	c, err := d.Cache(t.Context(), CacheOptions{Dir: t.TempDir(), Side: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, name := range d.Names {
		var im imaging.Image
		if err := c.Image(t.Context(), i, &im, nil); err != nil || im.W != want[name][0] || im.H != want[name][1] {
			t.Errorf("%s: %d x %d, %v", name, im.W, im.H, err)
		}
	}
	if w, h, ch := c.Source.Shape(); w != 0 || h != 0 || ch != 3 {
		t.Errorf("shape %d x %d x %d", w, h, ch)
	}
	same := open(t, layoutFiles{"a/1.png": picture(t, 7, 5, 1), "a/2.png": picture(t, 7, 5, 1),
		"b/3.png": picture(t, 7, 5, 1)}.folder(t))
	if c, err = same.Cache(t.Context(), CacheOptions{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if w, h, ch := c.Source.Shape(); w != 7 || h != 5 || ch != 1 {
		t.Errorf("shape %d x %d x %d", w, h, ch)
	}
}

// A box is in pixels of the file, so a sample that has one is decoded in full.
func TestBoxesAreCutFromWholeImages(t *testing.T) {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, imaging.NewImage(64, 64, 3), nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"a/1.jpg", "b/1.jpg"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir)
	d.Boxes = []image.Rectangle{image.Rect(8, 8, 40, 32), {}}
	dec := imaging.Decoder{Shrink: func(w, h int) int { return 8 }}
	var im imaging.Image
	if err := d.Image(t.Context(), 0, &im, &dec); err != nil || im.W != 32 || im.H != 24 {
		t.Errorf("%d x %d, %v", im.W, im.H, err)
	}
	d.Boxes = nil
	if err := d.Image(t.Context(), 0, &im, &dec); err != nil || im.W != 8 || im.H != 8 {
		t.Errorf("without boxes: %d x %d, %v", im.W, im.H, err)
	}
}
