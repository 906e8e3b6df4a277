package mirror

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/kindred-ml/kindred/app/mirror/changes"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/store"
)

// Columns of items that say which content was embedded.
const (
	Prefix   = "file." // of all these columns
	Size     = Prefix + "size"
	Modified = Prefix + "modified" // as 2024-05-01T12:30:05.123456789Z; texts compare as times do
	Digest   = Prefix + "digest"   // hex: of the content, and of the box if the set has boxes
	Part     = Prefix + "part"     // the box, if the set has boxes
	Set      = Prefix + "set"      // where the data set is that the photo came from
)

// fresh is how old a file has to be for its time to say that its content has not changed
// since: two changes within the granularity of a file system's clock have one time.
const fresh = 2 * time.Second

// nanoseconds is how times are written: all with the same number of digits.
const nanoseconds = "2006-01-02T15:04:05.000000000Z"

// Fact is what is known of the file of a sample.
type Fact struct {
	data.Stat
	Digest string // "": it cannot be read
	time   string // "": it says nothing about the content
	part   string
	set    string
}

// Facts looks at the files of a part: at sizes and times first, and then at the contents.
// If it is kept with the embeddings that are computed afterwards, no later change of a file
// goes unnoticed: one while it is embedded changes the time, or comes so soon after the
// last that the time is not taken for granted. set is where the data set is. It returns nil
// for samples that are not files.
func Facts(ctx context.Context, p *data.Part, set string) ([]Fact, error) {
	out, err := facts(ctx, p, set, time.Now())
	if out == nil || err != nil {
		return nil, err
	}
	digests, err := p.Digests(ctx)
	if err != nil {
		return nil, err
	}
	for i, d := range digests {
		out[i].digest(d)
	}
	return out, nil
}

// facts is Facts without the contents.
func facts(ctx context.Context, p *data.Part, set string, now time.Time) ([]Fact, error) {
	stats, err := p.Stats(ctx)
	if stats == nil || err != nil {
		return nil, err
	}
	out := make([]Fact, len(stats))
	for i, s := range stats {
		out[i].Stat, out[i].set = s, set
		if p.Data.Boxes != nil && !p.Data.Boxes[p.Index[i]].Empty() {
			out[i].part = p.Data.Boxes[p.Index[i]].String()
		}
		if !s.Modified.IsZero() && now.Sub(s.Modified) >= fresh {
			out[i].time = s.Modified.UTC().Format(nanoseconds)
		}
	}
	return out, nil
}

func (f *Fact) digest(d data.Digest) {
	if d != (data.Digest{}) {
		f.Digest = hex.EncodeToString(d[:])
	}
}

// Put sets the columns of an item that say what its file is.
func (f *Fact) Put(it *store.Item) {
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

// file is the sample in a listing.
func (f *Fact) file(id, labels string) changes.File {
	return changes.File{ID: id, Path: f.Path, Size: f.Size, Modified: f.time, Part: f.part, Digest: f.Digest,
		Labels: labels, Unread: f.Err != nil}
}
