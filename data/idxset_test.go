package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

func TestOpenIdx(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Tiny")
	writeIdx(t, dir, []byte{7, 2, 7}, []byte{2, 9})
	d, err := Open(t.Context(), dir, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "tiny" || d.Layout != "idx" || d.Len() != 5 {
		t.Fatalf("%q %q %d", d.Name, d.Layout, d.Len())
	}
	c, err := d.Column("fine")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Classes, []string{"2", "7", "9"}) || !slices.Equal(c.IDs, []int64{1, 0, 1, 0, 2}) ||
		!slices.Equal(c.Numbers, []int64{2, 7, 9}) {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(d.Splits, []Split{Train, Train, Train, Test, Test}) {
		t.Errorf("%v", d.Splits)
	}
	var im imaging.Image
	if err := d.Image(t.Context(), 4, &im, nil); err != nil {
		t.Fatal(err)
	}
	if im.W != 3 || im.H != 2 || im.C != 1 || !slices.Equal(im.Pix, []uint8{110, 111, 112, 113, 114, 115}) {
		t.Errorf("%+v", im)
	}
	if d.Names[4] != "test/1" {
		t.Errorf("%q", d.Names[4])
	}
}

func TestOpenIdxErrors(t *testing.T) {
	cases := map[string]struct {
		file    string
		content []byte
		want    string
	}{
		"count":   {"train-labels-idx1-ubyte", idxBytes([]int{2}, []byte{1, 2}), "has 3 images but"},
		"swapped": {"train-labels-idx1-ubyte", idxBytes([]int{3, 1, 1}, []byte{1, 2, 3}), "labels need one"},
		"dims":    {"t10k-images-idx3-ubyte", idxBytes([]int{2, 6}, make([]byte, 12)), "images need three"},
		"size": {"t10k-images-idx3-ubyte", idxBytes([]int{2, 1, 6}, make([]byte, 12)),
			"images of 3 x 2 pixels, t10k-images-idx3-ubyte of 6 x 1"},
		"truncated": {"t10k-images-idx3-ubyte", idxBytes([]int{2, 2, 3}, make([]byte, 11)),
			"need 12 bytes of data, the file has 11"},
		"missing": {"t10k-labels-idx1-ubyte", nil, "no file t10k-labels-idx1-ubyte"},
	}
	for name, c := range cases {
		dir := t.TempDir()
		writeIdx(t, dir, []byte{7, 2, 7}, []byte{2, 9})
		path := filepath.Join(dir, c.file)
		if c.content == nil {
			os.Remove(path)
		} else {
			write(t, path, c.content)
		}
		_, err := Open(t.Context(), dir, OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v; want %q and the folder", name, err, c.want)
		}
	}
}

func TestOpenRealMNIST(t *testing.T) {
	d, err := Open(t.Context(), "mnist", OpenOptions{Home: filepath.Dir(refdata.Path(t, "data", "mnist"))})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Column("digit")
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 70000 || len(c.Classes) != 10 {
		t.Fatalf("%d samples, %d classes", d.Len(), len(c.Classes))
	}
	// The published first labels: 5 0 4 1 9 to train, 7 2 1 0 4 to test.
	if !slices.Equal(c.IDs[:5], []int64{5, 0, 4, 1, 9}) || !slices.Equal(c.IDs[60000:60005], []int64{7, 2, 1, 0, 4}) {
		t.Errorf("%v %v", c.IDs[:5], c.IDs[60000:60005])
	}
}

func TestFashionNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fashion-mnist")
	writeIdx(t, dir, []byte{0, 9, 3}, []byte{0, 5})
	c, err := open(t, dir).Column("class")
	if err != nil || !slices.Equal(c.Classes, []string{"T-shirt/top", "Dress", "Sandal", "Ankle boot"}) {
		t.Errorf("%+v %v", c, err)
	}
}

// The column is called digit where the labels are 0 to 9, all of them.
func TestDigitColumn(t *testing.T) {
	for labels, want := range map[string]string{
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09": "digit", "\x01\x02\x03\x04\x05\x06\x07\x08\x09": "class",
		"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a": "class", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0a": "class",
	} {
		dir := t.TempDir()
		writeIdx(t, dir, []byte(labels), []byte(labels))
		if d := open(t, dir); d.Fine != want || d.Train != want {
			t.Errorf("%q: %s", labels, d.Fine)
		}
	}
}

func TestIdxWithoutImages(t *testing.T) {
	for _, dims := range [][]int{{0, 2, 3}, {2, 0, 3}, {2, 3, 0}, {2, 2, 3, 1}, {2}} {
		dir := t.TempDir()
		writeIdx(t, dir, []byte{1, 2}, []byte{1, 2})
		n := 1
		for _, d := range dims {
			n *= d
		}
		write(t, filepath.Join(dir, "train-images-idx3-ubyte"), idxBytes(dims, make([]byte, n)))
		if _, err := Open(t.Context(), dir, OpenOptions{}); err == nil ||
			!strings.Contains(err.Error(), "images need three dimensions above 0") {
			t.Errorf("%v: %v", dims, err)
		}
	}
}
