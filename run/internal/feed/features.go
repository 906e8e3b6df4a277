package feed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/format/rows"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// Cache holds the features that a frozen body computes: of every image in the view of
// evaluation and, for training images, in some augmented views. Features are computed once,
// when they are first needed, and kept in a file for other runs.
//
// The features of an image are found by the content of its file. Everything else that they
// depend on is part of the key of the file that keeps them: the description and weights of the
// body, the preparation of images, and the output of the body for a fixed input. The output is
// included because another program or processor may compute other last bits.
type Cache struct {
	CacheConfig

	key     rows.Key // key of the body; zero until it is needed
	digests map[*data.Part][]data.Digest
	views   map[int]*featureView
	filled  map[viewKey][]rows.Key
	remarks []string // errors of files

	numComputed int // number of features
	numFound    int
	duration    time.Duration
}

// CacheConfig says what a Cache computes and where it keeps it.
type CacheConfig struct {
	Body     *nn.Net
	Prepared Preparation // with the seed and the augmentation of training
	Batch    int         // images at a time
	Dir      string      // folder of the files; "" if none are kept
	Progress func(done, total int)
}

// NewCache returns an empty cache.
func NewCache(c CacheConfig) *Cache {
	return &Cache{CacheConfig: c, digests: map[*data.Part][]data.Digest{}, views: map[int]*featureView{},
		filled: map[viewKey][]rows.Key{}}
}

// viewKey is one view of the samples of one part, as a key of a map.
type viewKey struct {
	part *data.Part
	view int
}

// evaluationView is the number of the view of evaluation; augmented views are numbered from 0.
const evaluationView = -1

// featureView holds the known features of one view of the images.
type featureView struct {
	key  rows.Key
	path string
	rows map[rows.Key][]float32
}

// Preparation holds the settings that features depend on, as in section data of a configuration. The cache sets the
// version and the view.
type Preparation struct {
	Version        int
	Size, Channels int
	Fit            string
	Shorter        int
	Pixels, Chroma string
	Augment        string
	Seed           uint64
	View           int
	Resample       string `json:",omitempty"`
	Raw            bool   `json:",omitempty"` // colours
}

// preparationVersion must be raised when a change of the code changes the prepared images.
const preparationVersion = 5

// computeKey computes the key of the body.
func (f *Cache) computeKey() error {
	if f.key != (rows.Key{}) {
		return nil
	}
	spec := *f.Body.Spec()
	spec.Name, spec.Meta = "", nil
	text, err := spec.JSON()
	if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(text)
	if err := f.Body.State().Write(h); err != nil {
		return err
	}
	probe := make([]float32, spec.Input.Len())
	for i := range probe {
		probe[i] = float32(math.Sin(float64(i)))
	}
	binary.Write(h, binary.LittleEndian, f.Body.Infer(probe, 1).Data)
	f.key = rows.Key(h.Sum(nil))
	return nil
}

// openView returns a view of the images of a data set, with the features that earlier runs kept.
func (f *Cache) openView(d *data.Dataset, number int) (*featureView, error) {
	if v := f.views[number]; v != nil {
		return v, nil
	}
	if err := f.computeKey(); err != nil {
		return nil, err
	}
	p := f.Prepared
	p.Version, p.View = preparationVersion, number
	if number == evaluationView {
		p.Augment, p.Seed = "", 0
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	v := &featureView{key: rows.Key(sha256.Sum256(append(f.key[:], text...))), rows: map[rows.Key][]float32{}}
	if f.Dir != "" {
		v.path = filepath.Join(f.Dir, fmt.Sprintf("%s-%s.safetensors", filepath.Base(d.Name),
			hex.EncodeToString(v.key[:6])))
		kept, err := rows.Load(v.path, v.key, f.Body.Dim())
		if err != nil {
			f.remarks = append(f.remarks, err.Error())
		} else if kept != nil {
			v.rows = kept
		}
	}
	f.views[number] = v
	return v, nil
}

// keys returns the keys of a part's samples in a view. Samples that cannot be read have a zero
// key. The random changes of an augmented view depend on a sample's number in its data set,
// which is therefore part of the key.
func (f *Cache) keys(ctx context.Context, p *data.Part, number int) ([]rows.Key, error) {
	if f.digests[p] == nil {
		d, err := p.Digests(ctx)
		if err != nil {
			return nil, err
		}
		f.digests[p] = d
	}
	out := make([]rows.Key, p.Len())
	for i, d := range f.digests[p] {
		if d != (data.Digest{}) {
			out[i] = rows.Key(d)
		}
		if number != evaluationView {
			out[i] = sha256.Sum256(binary.LittleEndian.AppendUint64(d[:], uint64(p.Index[i])))
		}
	}
	return out, nil
}

// fillView computes the features of a feed's samples that a view lacks, and returns the samples'
// keys. If it is interrupted, it keeps the features computed so far.
func (f *Cache) fillView(ctx context.Context, from *Feed, number int) (*featureView, []rows.Key, error) {
	v, err := f.openView(from.Part.Data, number)
	if err != nil {
		return nil, nil, err
	}
	whole := viewKey{from.Part, number}
	if keys := f.filled[whole]; keys != nil {
		return v, keys, nil
	}
	keys, err := f.keys(ctx, from.Part, number)
	if err != nil {
		return nil, nil, err
	}
	var lacking []int
	seen := map[rows.Key]bool{}
	for i, k := range keys {
		if v.rows[k] == nil && !seen[k] {
			seen[k] = k != rows.Key{}
			lacking = append(lacking, i)
		}
	}
	begun := time.Now()
	made, err := f.compute(ctx, from, max(number, 0), lacking, keys)
	delete(made, rows.Key{})
	f.numComputed, f.numFound, f.duration = f.numComputed+len(made), f.numFound+len(keys)-len(lacking),
		f.duration+time.Since(begun)
	maps.Copy(v.rows, made)
	if v.path != "" && len(made) > 0 {
		if e := f.saveRows(v, made); e != nil {
			f.remarks = append(f.remarks, e.Error())
		}
	}
	if err != nil {
		return nil, nil, err
	}
	f.filled[whole] = keys
	return v, keys, nil
}

func (f *Cache) saveRows(v *featureView, made map[rows.Key][]float32) error {
	if err := os.MkdirAll(f.Dir, 0o777); err != nil {
		return err
	}
	return rows.Save(v.path, v.key, f.Body.Dim(), made)
}

// compute runs the body over the samples at the given positions.
func (f *Cache) compute(ctx context.Context, from *Feed, epoch int, pos []int, keys []rows.Key) (
	map[rows.Key][]float32, error) {
	made := make(map[rows.Key][]float32, len(pos))
	done := 0
	for b, err := range train.Images(from.Loader).Epoch(ctx, epoch, slices.Collect(slices.Chunk(pos, f.Batch))) {
		if err != nil {
			return made, err
		}
		if len(b.Pos) > 0 {
			y := f.Body.Infer(b.X, len(b.Pos))
			for i, p := range b.Pos {
				made[keys[p]] = slices.Clone(y.Row(i))
			}
		}
		if done += f.Batch; f.Progress != nil {
			f.Progress(min(done, len(pos)), len(pos))
		}
	}
	return made, nil
}

// EvaluationFeatures returns the features of a feed's samples in the view of evaluation. Row i belongs to
// position pos[i].
func (f *Cache) EvaluationFeatures(ctx context.Context, from *Feed) (x *matrix.Dense, pos []int, err error) {
	v, keys, err := f.fillView(ctx, from, evaluationView)
	if err != nil {
		return nil, nil, err
	}
	x = matrix.New(len(keys), f.Body.Dim())
	for i, k := range keys {
		if row := v.rows[k]; row != nil {
			copy(x.Row(len(pos)), row)
			pos = append(pos, i)
		}
	}
	return x.RowRange(0, len(pos)), pos, nil
}

// ReplaceImages replaces the images of a feed by their features. The features are of the view of
// evaluation or, with views > 0, of one of that many augmented views, drawn for each epoch and
// sample. If a sample occurs twice in a batch, the second one has the next view.
func (f *Cache) ReplaceImages(of *Feed, views int) {
	images := *of
	of.Data = &featureData{f, &images, views}
}

// featureData implements train.Data for features.
type featureData struct {
	cache *Cache
	feed  *Feed
	views int // number of augmented views; 0 for the view of evaluation
}

// Epoch gathers the features of each batch. It leaves out samples that cannot be read.
func (d *featureData) Epoch(ctx context.Context, epoch int, batches [][]int) iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		views, keys, err := d.fillViews(ctx)
		if err != nil {
			yield(train.Batch{}, err)
			return
		}
		var b train.Batch
		turn := map[int]int{} // number of times a sample occurred earlier in the batch
		for _, pos := range batches {
			if err := ctx.Err(); err != nil {
				yield(train.Batch{}, err)
				return
			}
			b.X, b.Pos = b.X[:0], b.Pos[:0]
			clear(turn)
			for _, p := range pos {
				k := (d.viewAt(epoch, p, len(views)) + turn[p]) % len(views)
				turn[p]++
				if row := views[k].rows[keys[k][p]]; row != nil {
					b.X, b.Pos = append(b.X, row...), append(b.Pos, p)
				}
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// viewAt returns the view of a sample in an epoch.
func (d *featureData) viewAt(epoch, pos, views int) int {
	if views == 1 {
		return 0
	}
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, [3]uint64{d.cache.Prepared.Seed, uint64(epoch), uint64(pos)})
	return int(binary.LittleEndian.Uint64(h.Sum(nil)) % uint64(views))
}

// fillViews computes all views.
func (d *featureData) fillViews(ctx context.Context) ([]*featureView, [][]rows.Key, error) {
	numbers := []int{evaluationView}
	if d.views > 0 {
		numbers = lists.Indices(d.views)
	}
	views, keys := make([]*featureView, len(numbers)), make([][]rows.Key, len(numbers))
	for i, number := range numbers {
		var err error
		if views[i], keys[i], err = d.cache.fillView(ctx, d.feed, number); err != nil {
			return nil, nil, err
		}
	}
	return views, keys, nil
}

// Fill computes the features of the samples of feeds whose images ReplaceImages has replaced. It returns remarks for
// the user: what went wrong with files, and how many features were computed.
func (f *Cache) Fill(ctx context.Context, feeds []*Feed) (remarks []string, err error) {
	for _, from := range feeds {
		if _, _, err := from.Data.(*featureData).fillViews(ctx); err != nil {
			return nil, err
		}
	}
	return append(f.remarks, f.describeUse()), nil
}

// describeUse says how many features were computed and found, and where they are kept.
func (f *Cache) describeUse() string {
	var size int64
	files := 0
	for _, v := range f.views {
		if st, err := os.Stat(v.path); err == nil {
			size += st.Size()
			files++
		}
	}
	text := fmt.Sprintf("frozen body: %d features computed in %v", f.numComputed,
		f.duration.Round(100*time.Millisecond))
	if s := f.duration.Seconds(); f.numComputed > 0 && s > 0 {
		text += fmt.Sprintf(" (%.0f a second)", float64(f.numComputed)/s)
	}
	text += fmt.Sprintf(", %d read from the cache", f.numFound)
	if files == 0 {
		return text + "; they are not kept"
	}
	return fmt.Sprintf("%s; %s are kept in %s ('kindred cache drop features' removes them)", text, budget.Format(size),
		f.Dir)
}
