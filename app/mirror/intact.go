package mirror

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"

	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/store"
)

// The reasons why an item's photo cannot be embedded again.
var (
	// ErrNoPath is the error for an item without a file.
	ErrNoPath = errors.New("it has no photo of its own: it came as a vector, or from an archive")
	// ErrChanged is the error for an item whose file has another content than the one that was embedded.
	ErrChanged = errors.New("its photo has changed since it was embedded")
)

// Intact returns the file of an item if it has the content that was embedded, as far as the columns of the item say
// so. It reads the content only if size and time do not prove that. The error is ErrNoPath, ErrChanged, or that of the
// file.
func Intact(it *store.Item) (fs.FileInfo, error) {
	if it.Path == "" {
		return nil, ErrNoPath
	}
	f, err := regular.Open(it.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size, _ := it.Columns[Size].(float64)
	if when, _ := it.Columns[Modified].(string); when != "" && int64(size) == info.Size() &&
		when == info.ModTime().UTC().Format(nanoseconds) {
		return info, nil
	}
	if it.Columns[Digest] == nil {
		return info, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	if same, known := Embedded(it.Columns, [sha256.Size]byte(h.Sum(nil))); known && !same {
		return nil, ErrChanged
	}
	return info, nil
}

// Box returns the part of its photo that an item is of, in pixels; empty for the whole photo.
func Box(it *store.Item) (image.Rectangle, error) {
	text, _ := it.Columns[Part].(string)
	if text == "" {
		return image.Rectangle{}, nil
	}
	var x, y, w, h, x1, y1 int
	if _, err := fmt.Sscanf(text+"\n", "xywh=%d,%d,%d,%d\n", &x, &y, &w, &h); err == nil {
		return image.Rect(x, y, x+w, y+h), nil
	}
	if _, err := fmt.Sscanf(text+"\n", "(%d,%d)-(%d,%d)\n", &x, &y, &x1, &y1); err == nil {
		return image.Rect(x, y, x1, y1), nil
	}
	return image.Rectangle{}, fmt.Errorf("its column %s is %q: want a box such as xywh=10,20,30,40", Part, text)
}
