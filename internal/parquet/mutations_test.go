package parquet

import (
	"bytes"
	"fmt"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes the metadata of a file of pictures in which other programs name classes.
func TestMutations(t *testing.T) {
	mutations.Try(t, mutations.Reader{Name: "metadata of Parquet",
		Valid: []string{metadata}, Read: func(text []byte) error {
			var b bytes.Buffer
			w := pq.NewGenericWriter[pictureRow](&b, pq.KeyValueMetadata("huggingface", string(text)))
			for i := range 3 {
				label := int64(i % 2)
				row := pictureRow{ID: int64(i), Image: &picture{Bytes: content(i)}, Label: &label,
					Shop: fmt.Sprint("s", i)}
				if _, err := w.Write([]pictureRow{row}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			p, err := openPictures(b.Bytes(), "label")
			if err != nil {
				return err
			}
			for k := range p.Pages {
				if _, err := p.Load(k); err != nil {
					return err
				}
			}
			return nil
		}})
}
