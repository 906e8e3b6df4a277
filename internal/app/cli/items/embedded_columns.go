package items

import (
	"context"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/run"
)

// AddItems adds the ids of the rows' items and the digests of their contents.
func AddItems(ctx context.Context, t *embedding.Table, e *run.Embeddings) error {
	if t.CheckItems() == nil { // a list may have a picture twice
		ids := make([]string, t.Rows())
		for i := range ids {
			ids[i] = t.ItemID(i)
		}
		t.ID = &embedding.Column{Name: "id", Text: ids}
	}
	if !e.Part.Data.HasLocalFiles() {
		return nil
	}
	digests, err := e.Part.Subset(e.Pos).Digests(ctx)
	if err != nil || !slices.ContainsFunc(digests, func(d data.Digest) bool { return d != data.Digest{} }) {
		return err
	}
	for _, d := range digests {
		t.Digests = append(t.Digests, d.String())
	}
	return nil
}

// AddExif adds the columns of EXIF data that at least one photo has. A set without labels gets no such
// columns, because they would be taken for labels.
func AddExif(ctx context.Context, t *embedding.Table, e *run.Embeddings) error {
	if len(t.Columns) == 0 {
		return nil
	}
	photos, err := e.Part.Subset(e.Pos).EXIF(ctx)
	if err != nil || photos == nil {
		return err
	}
	for _, name := range []string{mirror.Taken, mirror.Camera, mirror.Place} {
		texts, some := make([]string, len(photos)), false
		for i := range photos {
			texts[i], _ = mirror.ExifColumns(&photos[i])[name].(string)
			some = some || texts[i] != ""
		}
		if some {
			t.Columns = append(t.Columns, embedding.NewColumn(name, texts))
		}
	}
	return nil
}
