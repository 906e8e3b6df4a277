package mirror

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"io"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/store"
)

// The reasons why an item's photo cannot be embedded again.
var (
	// ErrNoPath is the error for an item without a file.
	ErrNoPath = errors.New("it has no photo of its own: it came as a vector, or from an archive")
	// ErrChanged is the error for an item whose file has another content than the one that was embedded.
	ErrChanged = errors.New("its photo has changed since it was embedded")
)

// CheckUnchanged returns the box of an item if its file has the content that was embedded, as far as the
// columns of the item say so. The box is empty for the whole photo. Intact reads the content only if size
// and time do not prove that. The error is ErrNoPath, ErrChanged, or that of the file or the box.
func CheckUnchanged(ctx context.Context, it *store.Item) (box image.Rectangle, err error) {
	if it.Path == "" {
		return box, ErrNoPath
	}
	region := Region(it.Columns)
	box, ok := embedding.ParseRegion(region)
	if !ok {
		return box, fmt.Errorf("its column %s is %q: want a box such as xywh=10,20,30,40", Part, region)
	}
	f, err := fileinfo.Open(it.Path)
	if err != nil {
		return box, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return box, err
	}
	size, _ := it.Columns[Size].(float64)
	digest, _ := it.Columns[Digest].(string)
	when, _ := it.Columns[Modified].(string)
	switch {
	case digest == "":
	case when != "" && int64(size) == info.Size() && when == info.ModTime().UTC().Format(timeFormat):
	case !box.Empty():
		now, err := data.ListFiles("item", []string{it.Path}, []image.Rectangle{box}).All().Digests(ctx)
		if err == nil && now[0].String() != digest {
			err = ErrChanged
		}
		return box, err
	default:
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return box, err
		}
		if same, known := HasEmbedding(it.Columns, [sha256.Size]byte(h.Sum(nil))); known && !same {
			return box, ErrChanged
		}
	}
	return box, nil
}
