package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// TestKeptPages: pages of many images are loaded once, in whatever order their images are read. Pages of few
// images are loaded once if they are read in order, and are kept in bounded memory.
func TestKeptPages(t *testing.T) {
	const pages, page = 400, 1 << 20
	budgettest.Limit(t, 4<<30)
	for _, images := range []int{1, fewImages, fewImages + 1} {
		loads := 0
		file := &embedding.PictureFile{Rows: pages * images, Load: func(int) ([][]byte, error) {
			loads++
			return make([][]byte, images), nil
		}}
		src := &pictureTables{tables: []*embedding.PictureFile{file}}
		for k := range pages {
			file.Pages = append(file.Pages, embedding.PicturePage{First: k * images, Bytes: page})
		}
		for row := range file.Rows {
			src.rows = append(src.rows, tableRow{0, row})
		}
		read := func(i int) {
			// The rows of Load have no images, which is found after loading.
			if _, err := src.Read(i, nil); err == nil || err.Error() != "this row has no image" {
				t.Fatal(err)
			}
		}
		for i := range src.rows {
			read(i)
		}
		if loads != pages {
			t.Errorf("%d images a page: %d loads of %d pages in order", images, loads, pages)
		}
		few := images <= fewImages
		if got := src.few.bytes; few != (got > 0) || got > maxFewCached || int64(len(src.few.pages))*page != got ||
			len(src.few.order) != len(src.few.pages) {
			t.Errorf("%d images a page: %d pages, %d bytes of few images are kept", images, len(src.few.pages), got)
		}
		for _, i := range rand.Perm(len(src.rows)) {
			read(i)
		}
		if !few && loads != pages {
			t.Errorf("%d images a page: %d loads of %d pages in any order", images, loads, pages)
		}
	}
}
