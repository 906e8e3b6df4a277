package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
	"github.com/kindred-ml/kindred/store"
)

// Columns of items that record which content was embedded.
const (
	Prefix   = "file." // beginning of all these columns
	Size     = Prefix + "size"
	Modified = Prefix + "modified" // as 2024-05-01T12:30:05.123456789Z; texts compare as times do
	Digest   = Prefix + "digest"   // hex: of the content, and of the box if the set has boxes
	Part     = Prefix + "part"     // the region of the picture, as in embedding.Item; none for the whole picture
	Set      = Prefix + "set"      // place of the photo's data set
	Labels   = Prefix + "labels"   // classes of the photo in its data set, if those of the item were changed by hand
)

// noLabels is the column Labels of a photo without classes.
const noLabels = "none"

// minAge is the least age of a file whose unchanged time means unchanged content. Two changes within the
// granularity of a file system's clock have one time.
const minAge = 2 * time.Second

// timeFormat is the format of times: all have the same number of digits.
const timeFormat = "2006-01-02T15:04:05.000000000Z"

// FileRecord has the known facts of a sample's file.
type FileRecord struct {
	data.Stat
	Digest string // "" if the file cannot be read
	time   string // "" if the time does not prove unchanged content
	part   string
	set    string
}

// ReadFileRecords reads the sizes and times of a part's files, and then their contents. Stored with embeddings that are
// computed afterwards, facts reveal every later change of a file: a change during embedding changes the time, or
// comes so soon after the last one that the time is not trusted. set is the place of the data set. Facts returns
// nil for samples that are not files.
func ReadFileRecords(ctx context.Context, p *data.Part, set string) ([]FileRecord, error) {
	out, err := readFileRecords(ctx, p, set, time.Now())
	if out == nil || err != nil {
		return nil, err
	}
	digests, err := p.Digests(ctx)
	if err != nil {
		return nil, err
	}
	for i, d := range digests {
		out[i].setDigest(d)
	}
	return out, nil
}

// readFileRecords is Facts without the contents.
func readFileRecords(ctx context.Context, p *data.Part, set string, now time.Time) ([]FileRecord, error) {
	stats, err := p.Stats(ctx)
	if stats == nil || err != nil {
		return nil, err
	}
	out := make([]FileRecord, len(stats))
	for i, s := range stats {
		out[i].Stat, out[i].set = s, set
		out[i].part = p.Data.Item(p.Index[i]).Region
		if !s.Modified.IsZero() && now.Sub(s.Modified) >= minAge {
			out[i].time = s.Modified.UTC().Format(timeFormat)
		}
	}
	return out, nil
}

func (f *FileRecord) setDigest(d data.Digest) { f.Digest = d.String() }

// Put sets the columns of an item that record the facts of its file.
func (f *FileRecord) Put(it *store.Item) {
	if f.Digest == "" {
		return
	}
	if it.Columns == nil {
		it.Columns = map[string]any{}
	}
	columns := it.Columns
	columns[Digest], columns[Size] = f.Digest, float64(f.Size)
	for name, text := range map[string]string{Modified: f.time, Part: f.part, Set: f.set} {
		delete(columns, name)
		if text != "" {
			columns[name] = text
		}
	}
}

// CopyFileRecord gives an item that replaces another one of the same photo the facts of the photo's file. If
// it has other classes, it also records those of the data set, so that a comparison with the set does not
// undo the change.
func CopyFileRecord(old, it *store.Item) {
	for name := range it.Columns {
		if strings.HasPrefix(name, Prefix) {
			delete(it.Columns, name)
		}
	}
	for name, v := range old.Columns {
		if strings.HasPrefix(name, Prefix) {
			if it.Columns == nil {
				it.Columns = map[string]any{}
			}
			it.Columns[name] = v
		}
	}
	if old.Columns[Digest] != nil {
		recordLabels(it, recordedLabels(old.Columns))
	}
}

// recordedLabels returns the classes of an item's photo in its data set, as by labelText.
func recordedLabels(columns map[string]any) string {
	switch text, _ := columns[Labels].(string); text {
	case "":
		return labelText(columns) // not changed by hand
	case noLabels:
		return ""
	default:
		return text
	}
}

// recordLabels records the classes of an item's photo in its data set, if those of the item differ.
func recordLabels(it *store.Item, labels string) {
	delete(it.Columns, Labels)
	if labelText(it.Columns) == labels {
		return
	}
	if it.Columns == nil {
		it.Columns = map[string]any{}
	}
	it.Columns[Labels] = cmp.Or(labels, noLabels)
}

// IsFromSet reports whether an item is of a photo of the data set at a place.
func IsFromSet(it *store.Item, set string) bool {
	return it.Columns[Set] == set || isBelow(it.Path, map[string]bool{set: true})
}

// PutItem sets the columns of an item that are known of its file from a table.
func PutItem(it *store.Item, of embedding.Item) {
	for name, text := range map[string]string{Digest: of.Digest, Part: of.Region} {
		if text == "" {
			continue
		}
		if it.Columns == nil {
			it.Columns = map[string]any{}
		}
		it.Columns[name] = text
	}
}

// Region returns the region of an item's picture; "" for the whole picture.
func Region(columns map[string]any) string {
	part, _ := columns[Part].(string)
	if !strings.HasPrefix(part, "(") {
		return part
	}
	var box image.Rectangle // an index of an earlier version
	if _, err := fmt.Sscanf(part, "(%d,%d)-(%d,%d)", &box.Min.X, &box.Min.Y, &box.Max.X, &box.Max.Y); err != nil {
		return part
	}
	return embedding.FormatRegion(box)
}

// HasEmbedding reports whether an item's embedding is of a whole file whose content has a SHA-256. known is
// false if the columns of the item have no digest.
func HasEmbedding(columns map[string]any, content [sha256.Size]byte) (same, known bool) {
	text, _ := columns[Digest].(string)
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(data.Digest{}) {
		return false, false
	}
	return Region(columns) == "" && data.Digest(sum).IsFile(content), true
}

// file returns the listing's entry of a sample.
func (f *FileRecord) file(id, labels string) changes.File {
	return changes.File{ID: id, Path: f.Path, Size: f.Size, Modified: f.time, Part: f.part, Digest: f.Digest,
		Labels: labels, Unread: f.Err != nil}
}
