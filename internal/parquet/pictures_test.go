package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// picture is an image as Hugging Face's datasets write it.
type picture struct {
	Bytes []byte  `parquet:"bytes,optional"`
	Path  *string `parquet:"path,optional"`
}

type pictureRow struct {
	ID    int64    `parquet:"id"`
	Image *picture `parquet:"image,optional"`
	Label *int64   `parquet:"label,optional"`
	Shop  string   `parquet:"shop"`
}

const metadata = `{"info": {"features": {"image": {"_type": "Image"}, "label": {"names": ["wren", "tit"], "_type": ` +
	`"ClassLabel"}}}}`

// content is that of image i: of every length, also of none.
func content(i int) []byte {
	if i%11 == 5 {
		return nil
	}
	b := make([]byte, (i*i*37)%3000)
	for k := range b {
		b[k] = byte(i + k*k)
	}
	return b
}

// pictures is a file of n images in several row groups.
func pictures(t testing.TB, n, group int, o ...pq.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[pictureRow](&b, append(o, pq.KeyValueMetadata("huggingface", metadata))...)
	for i := range n {
		label := int64(i % 2)
		r := pictureRow{ID: int64(i), Image: &picture{Bytes: content(i)}, Label: &label, Shop: fmt.Sprint("s", i%3)}
		if i == 7 {
			label = -1
		}
		if i == 13 {
			r.Image, r.Label = nil, nil
		}
		if _, err := w.Write([]pictureRow{r}); err != nil {
			t.Fatal(err)
		}
		if i%group == group-1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func openPictures(b []byte, want ...string) (*embedding.PictureFile, error) {
	return Format{}.OpenPictures(bytes.NewReader(b), int64(len(b)), want)
}

// options are ways in which other programs write such files.
func options() map[string][]pq.WriterOption {
	return map[string][]pq.WriterOption{
		"plain":  {pq.PageBufferSize(4000)},
		"snappy": {pq.PageBufferSize(4000), pq.Compression(&pq.Snappy)},
		"zstd":   {pq.PageBufferSize(9000), pq.Compression(&pq.Zstd), pq.DataPageVersion(1)},
		"gzip":   {pq.Compression(&pq.Gzip), pq.DataPageStatistics(true)},
		"dictionary": {pq.PageBufferSize(500), pq.DefaultEncodingFor(pq.ByteArray, &pq.RLEDictionary),
			pq.Compression(&pq.Snappy)},
		"lengths": {pq.PageBufferSize(4000), pq.DefaultEncodingFor(pq.ByteArray, &pq.DeltaLengthByteArray)},
	}
}

func TestPictures(t *testing.T) {
	for name, o := range options() {
		for _, group := range []int{1, 10, 1000} {
			f, err := openPictures(pictures(t, 50, group, o...), "shop", "nowhere", "label")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if f.Rows != 50 || len(f.Labels) != 2 || f.Labels[0].Name != "label" || f.Labels[1].Name != "shop" {
				t.Fatalf("%s: %d rows, %+v", name, f.Rows, f.Labels)
			}
			row := 0
			for k := range f.Pages {
				if f.Pages[k].First != row {
					t.Fatalf("%s: page %d begins with row %d, and %d were before it", name, k, f.Pages[k].First, row)
				}
				rows, err := f.Load(k)
				if err != nil {
					t.Fatalf("%s: page %d: %v", name, k, err)
				}
				for _, got := range rows {
					want := content(row)
					if row == 13 {
						want = nil
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("%s: row %d has %d bytes, want %d", name, row, len(got), len(want))
					}
					label := []string{"wren", "tit"}[row%2]
					if row == 7 || row == 13 {
						label = ""
					}
					if f.Labels[0].Text[row] != label || f.Labels[1].Text[row] != fmt.Sprint("s", row%3) {
						t.Fatalf("%s: row %d is %s of %s", name, row, f.Labels[0].Text[row], f.Labels[1].Text[row])
					}
					row++
				}
			}
			if row != 50 {
				t.Errorf("%s: %d rows in pages", name, row)
			}
		}
	}
}

// TestPicturesInAnyOrder: pages are read by several goroutines, and the later ones without those
// before them.
func TestPicturesInAnyOrder(t *testing.T) {
	f, err := openPictures(pictures(t, 60, 1000, pq.PageBufferSize(3000), pq.Compression(&pq.Snappy)))
	if err != nil || len(f.Pages) < 5 {
		t.Fatalf("%v", err)
	}
	var wait sync.WaitGroup
	for k := range f.Pages {
		wait.Go(func() {
			at := len(f.Pages) - 1 - k
			rows, err := f.Load(at)
			first := f.Pages[at].First
			want := content(first)
			if first == 13 { // which has no image
				want = nil
			}
			if err != nil || len(rows) == 0 || !bytes.Equal(rows[0], want) {
				t.Errorf("page %d: %v", at, err)
			}
		})
	}
	wait.Wait()
}

func TestNoPictures(t *testing.T) {
	if f, err := openPictures(file(t)); f != nil || err != nil {
		t.Errorf("%v, %v", f, err)
	}
	var b bytes.Buffer
	w := pq.NewGenericWriter[struct {
		Img   []byte `parquet:"img"`
		Label int64  `parquet:"label"`
	}](&b, pq.KeyValueMetadata("huggingface", metadata))
	if _, err := w.Write([]struct {
		Img   []byte `parquet:"img"`
		Label int64  `parquet:"label"`
	}{{[]byte("x"), 5}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openPictures(b.Bytes()); err == nil ||
		!strings.Contains(err.Error(), "column label: row 0: class 5 of 2") {
		t.Errorf("%v", err)
	}
}

// TestDamagedPictures: 200 files that are cut and 200 that are changed are errors, or give rows;
// none makes the reader panic or take more than the limit.
func TestDamagedPictures(t *testing.T) {
	good := pictures(t, 40, 15, pq.PageBufferSize(3000), pq.Compression(&pq.Snappy))
	budgettest.Limit(t, 64<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	failed := 0
	for n := range 400 {
		b := bytes.Clone(good)
		if n%2 == 0 {
			b = b[:rng.IntN(len(b))]
		} else {
			for range 1 + rng.IntN(6) {
				b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
			}
		}
		budgettest.CheckBounded(t, len(b), func() {
			f, err := openPictures(b)
			if err != nil {
				failed++
				return
			}
			for k := range f.Pages {
				if _, err := f.Load(k); err != nil {
					failed++
					return
				}
			}
		})
	}
	if failed < 200 {
		t.Errorf("only %d failed", failed)
	}
}

// TestRepeatedPictures: an entry of a dictionary that stands for many rows counts each time.
func TestRepeatedPictures(t *testing.T) {
	var b bytes.Buffer
	w := pq.NewGenericWriter[pictureRow](&b, pq.DefaultEncodingFor(pq.ByteArray, &pq.RLEDictionary))
	big := make([]byte, 100_000)
	for range 200 {
		if _, err := w.Write([]pictureRow{{Image: &picture{Bytes: big}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := openPictures(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	old := debug.SetMemoryLimit(4 << 20)
	defer debug.SetMemoryLimit(old)
	var over *budget.Error
	if _, err := f.Load(0); !errors.As(err, &over) {
		t.Errorf("%v", err)
	}
}

// FuzzPictures reads any bytes.
func FuzzPictures(f *testing.F) {
	for _, o := range options() {
		f.Add(pictures(f, 12, 5, o...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		budgettest.CheckBounded(t, len(b), func() {
			p, err := openPictures(b, "shop")
			if err != nil || p == nil {
				return
			}
			row := 0
			for k := range min(len(p.Pages), 20) {
				rows, err := p.Load(k)
				if err != nil {
					return
				}
				if p.Pages[k].First != row {
					t.Fatalf("page %d begins with row %d, not %d", k, p.Pages[k].First, row)
				}
				row += len(rows)
			}
		})
	})
}
