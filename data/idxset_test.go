package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/refdata"
)

func TestOpenIdx(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Tiny")
	writeIdx(t, dir, []byte{7, 2, 7}, []byte{2, 9})
	d, err := Open(dir, OpenOptions{})
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
	if !slices.Equal(c.Classes, []string{"2", "7", "9"}) || !slices.Equal(c.IDs, []int64{1, 0, 1, 0, 2}) || !slices.Equal(c.Numbers, []int64{2, 7, 9}) {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(d.Splits, []Split{Train, Train, Train, Test, Test}) {
		t.Errorf("%v", d.Splits)
	}
	var im imaging.Image
	if err := d.Image(4, &im, nil); err != nil {
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
		"count":     {"train-labels-idx1-ubyte", idxBytes([]int{2}, []byte{1, 2}), "has 3 images but"},
		"swapped":   {"train-labels-idx1-ubyte", idxBytes([]int{3, 1, 1}, []byte{1, 2, 3}), "labels need one"},
		"dims":      {"t10k-images-idx3-ubyte", idxBytes([]int{2, 6}, make([]byte, 12)), "images need three"},
		"size":      {"t10k-images-idx3-ubyte", idxBytes([]int{2, 1, 6}, make([]byte, 12)), "images of 3 x 2 pixels, t10k-images-idx3-ubyte of 6 x 1"},
		"truncated": {"t10k-images-idx3-ubyte", idxBytes([]int{2, 2, 3}, make([]byte, 11)), "need 12 bytes of data, the file has 11"},
		"missing":   {"t10k-labels-idx1-ubyte", nil, "no file t10k-labels-idx1-ubyte"},
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
		_, err := Open(dir, OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v; want %q and the folder", name, err, c.want)
		}
	}
}

func TestOpenRealMNIST(t *testing.T) {
	d, err := Open("mnist", OpenOptions{Home: filepath.Dir(refdata.Path(t, "data", "mnist"))})
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
	s, err := d.Select(Selection{Label: "parity", Fine: "digit", TrainClasses: "0-5", TestClasses: "6-9"})
	if err != nil {
		t.Fatal(err)
	}
	// LeCun's counts per digit: 5923 6742 5958 6131 5842 5421 in training; the
	// test files hold 958 1028 974 1009 of digits 6 to 9.
	if s.Train.Len() != 36017 || s.Query.Len() != 3969 || s.Query != s.Gallery || s.Seen.Len() != 6031 {
		t.Errorf("%d to train, %d to test, %d seen", s.Train.Len(), s.Query.Len(), s.Seen.Len())
	}
	for i, fine := range s.Train.Fine {
		if s.Train.Label[i] != fine%2 {
			t.Fatalf("digit %d is labelled %s", fine, s.Train.LabelClasses[s.Train.Label[i]])
		}
	}
}
