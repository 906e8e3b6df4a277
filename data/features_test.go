package data

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

// writeFeatures writes x as name.npy and text as the file of labels.
func writeFeatures(t *testing.T, x *matrix.Dense, labels, text string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	var b bytes.Buffer
	if err := embedding.WriteNPY(&b, x); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "birds.npy")
	for name, c := range map[string][]byte{path: b.Bytes(), filepath.Join(dir, labels): []byte(text)} {
		if err := os.WriteFile(name, c, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, path
}

func TestOpenFeatures(t *testing.T) {
	x := matrix.FromSlice(4, 2, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	_, path := writeFeatures(t, x, "labels.csv",
		"path,label,coarse,split\na.jpg,wren,song,train\nb.jpg,owl,prey,train\n"+
			"c.jpg,wren,song,test\nd.jpg,kite,prey,test\n")
	d, err := Open(t.Context(), path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "birds" || d.Fine != "label" || d.Coarse != "coarse" || d.Train != "coarse" || d.Disjoint {
		t.Errorf("name %q, fine %q, coarse %q, train %q, disjoint %v", d.Name, d.Fine, d.Coarse, d.Train, d.Disjoint)
	}
	if diff := cmp.Diff([]string{"a.jpg", "b.jpg", "c.jpg", "d.jpg"}, d.Names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Split{Train, Train, Test, Test}, d.Splits); diff != "" {
		t.Error(diff)
	}
	fine, err := d.Column("fine")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kite", "owl", "wren"}, fine.Classes); diff != "" {
		t.Error(diff)
	}
	if d.Features.At(3, 1) != 8 {
		t.Errorf("the last feature is %v", d.Features.At(3, 1))
	}
}

// Labels in a file of their own go to the features of the same name.
func TestFeaturesAreMatchedByName(t *testing.T) {
	_, csv := writeFeatures(t, matrix.FromSlice(1, 1, []float32{0}), "labels.csv",
		"id,path,label,split\n2,c.jpg,kite,test\n0,a.jpg,wren,train\n1,b.jpg,owl,train\n")
	of, err := embedding.NewTable(matrix.FromSlice(3, 1, []float32{0, 1, 2}), []string{"a.jpg", "b.jpg", "c.jpg"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSuffix(csv, ".npy") + ".npz"
	if err := embedding.Write(path, of); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.Columns[0]
	for i, want := range []string{"wren", "owl", "kite"} {
		if got := c.Classes[c.IDs[i]]; got != want || d.Names[i] != of.Files[i] || (d.Splits[i] == Test) != (i == 2) {
			t.Errorf("%s is %s of %v, want %s", d.Names[i], got, d.Splits[i], want)
		}
	}
}

func TestOpenFeaturesErrors(t *testing.T) {
	x := matrix.FromSlice(2, 1, []float32{1, 2})
	nan := matrix.FromSlice(2, 1, []float32{1, float32(math.NaN())})
	for name, c := range map[string]struct {
		x            *matrix.Dense
		labels, text string
		want         string
	}{
		"no labels":     {x, "other.txt", "", "labels.npy"},
		"too few":       {x, "labels.csv", "label\n1\n", "1 labels"},
		"not finite":    {nan, "labels.csv", "label\n1\n2\n", "row 1, column 0"},
		"unknown split": {x, "labels.csv", "label,split\n1,train\n2,holiday\n", "holiday"},
		"split numbers": {x, "labels.csv", "label,split\n1,1\n2,0\n", "split"},
		"which column":  {x, "labels.csv", "a,b\n1,1\n2,2\n", "columns a, b"},
	} {
		_, path := writeFeatures(t, c.x, c.labels, c.text)
		_, err := Open(t.Context(), path, OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not contain %q", name, err, c.want)
		}
	}
}
