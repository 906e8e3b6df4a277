package parquet_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/parquet"
)

type photo struct {
	Bytes []byte  `parquet:"bytes,optional"`
	Path  *string `parquet:"path,optional"`
}

type photoRow struct {
	Image photo  `parquet:"image"`
	Label int64  `parquet:"label"`
	Shop  string `parquet:"shop"`
}

const twoClasses = `{"info": {"features": {"label": {"names": ["apple", "pear"], "_type": "ClassLabel"}}}}`

// shot is the file of photo i.
func shot(t *testing.T, i int) []byte {
	t.Helper()
	im := image.NewGray(image.Rect(0, 0, 9, 7))
	for k := range im.Pix {
		im.Pix[k] = uint8(31*i + k*k)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// table writes photos from first up to end as Hugging Face's datasets does.
func table(t *testing.T, path string, first, end int, change func(i int, r *photoRow)) {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[photoRow](&b, pq.PageBufferSize(700), pq.Compression(&pq.Snappy),
		pq.KeyValueMetadata("huggingface", twoClasses))
	for i := first; i < end; i++ {
		r := photoRow{Image: photo{Bytes: shot(t, i)}, Label: int64(i % 2), Shop: fmt.Sprint("shop ", i%3)}
		if change != nil {
			change(i, &r)
		}
		if _, err := w.Write([]photoRow{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func open(ctx context.Context, path string, opt data.OpenOptions) (*data.Dataset, error) {
	opt.Formats = []embedding.Format{parquet.Format{}}
	return data.Open(ctx, path, opt)
}

// pixels are those of all samples of a set, in the order of their names.
func pixels(t *testing.T, d *data.Dataset) [][]byte {
	t.Helper()
	all := make([][]byte, d.Len())
	var decode imaging.Decoder
	for i := range all {
		var im imaging.Image
		if err := d.Source.Read(t.Context(), i, &im, &decode); err != nil {
			t.Fatalf("%s: %v", d.Names[i], err)
		}
		all[i] = slices.Clone(im.Pix)
	}
	return all
}

// TestDataset checks that tables of photos, several with a split by their names, one by itself and
// by a pattern, hold the pixels and labels of the folder that they were made from.
func TestDataset(t *testing.T) {
	root := t.TempDir()
	table(t, filepath.Join(root, "set", "data", "train-00000-of-00002.parquet"), 0, 17, nil)
	table(t, filepath.Join(root, "set", "data", "train-00001-of-00002.parquet"), 17, 30, nil)
	table(t, filepath.Join(root, "set", "data", "test-00000-of-00001.parquet"), 30, 41, nil)
	d, err := open(t.Context(), filepath.Join(root, "set"), data.OpenOptions{Columns: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Len() != 41 || d.Layout != "parquet" || d.Fine != "label" || len(d.Columns) != 2 {
		t.Fatalf("%d samples, layout %s, %d columns", d.Len(), d.Layout, len(d.Columns))
	}
	got := pixels(t, d)
	for at, name := range d.Names {
		var i int
		file, row, _ := strings.Cut(strings.TrimPrefix(name, "data/"), "/")
		if _, err := fmt.Sscan(row, &i); err != nil {
			t.Fatal(name, err)
		}
		first := map[string]int{"train-00000-of-00002.parquet": 0, "train-00001-of-00002.parquet": 17,
			"test-00000-of-00001.parquet": 30}
		i += first[file]
		want := image.NewGray(image.Rect(0, 0, 9, 7))
		for k := range want.Pix {
			want.Pix[k] = uint8(31*i + k*k)
		}
		if !bytes.Equal(got[at], want.Pix) {
			t.Errorf("%s has other pixels than photo %d", name, i)
		}
		label, shop := d.Columns[0], d.Columns[1]
		if label.Classes[label.IDs[at]] != []string{"apple", "pear"}[i%2] || shop.Classes[shop.IDs[at]] !=
			fmt.Sprint("shop ", i%3) {
			t.Errorf("%s is labelled otherwise than photo %d", name, i)
		}
		if test := d.Splits[at]&data.Test != 0; test != (i >= 30) {
			t.Errorf("%s is in split %v", name, d.Splits[at])
		}
	}
	for _, path := range []string{
		filepath.Join(root, "set", "data", "train-00000-of-00002.parquet"),
		filepath.Join(root, "set", "data", "train-0000{0..1}-of-00002.parquet"),
	} {
		one, err := open(t.Context(), path, data.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(pixels(t, one)); n != 17 && n != 30 {
			t.Errorf("%s: %d samples", path, n)
		}
		one.Close()
	}
}

// TestDatasetMistakes checks that what is wrong is named, with the table and the row.
func TestDatasetMistakes(t *testing.T) {
	root := t.TempDir()
	bad := filepath.Join(root, "bad", "a.parquet")
	table(t, bad, 0, 12, func(i int, r *photoRow) {
		switch i {
		case 3:
			r.Image.Bytes = []byte("no picture")
		case 5:
			r.Image.Bytes = nil
		case 7:
			r.Label = -1
		}
	})
	d, err := open(t.Context(), filepath.Join(root, "bad"), data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Len() != 11 || len(d.LeftOut) != 1 || !strings.Contains(fmt.Sprint(d.LeftOut), "a.parquet/7") {
		t.Errorf("%d samples, left out %v", d.Len(), d.LeftOut)
	}
	var decode imaging.Decoder
	for i, want := range map[int]string{3: "a.parquet/3", 5: "a.parquet/5: this row has no image"} {
		var im imaging.Image
		if err := d.Source.Read(t.Context(), i, &im, &decode); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("row %d: %v, want %q", i, err, want)
		}
	}
	whole, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, whole[:len(whole)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), filepath.Join(root, "bad"), data.OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "a.parquet") {
		t.Errorf("cut in half: %v", err)
	}
	if _, err := data.Open(t.Context(), filepath.Join(root, "bad"), data.OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "does not read pictures in .parquet files") {
		t.Errorf("without the format: %v", err)
	}
}
