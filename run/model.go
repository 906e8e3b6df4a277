package run

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run/internal/embedder"
	"github.com/kindred-ml/kindred/run/internal/feed"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/run/internal/validation"
	"github.com/kindred-ml/kindred/train"
)

// Model is the network of a finished run and the preparation of its input. Set its fields before its first use. After
// that many goroutines may call Embed, EmbedFiles and EmbedPart; the network runs for one of them at a time.
type Model struct {
	Config Config
	Net    *nn.Net
	// Cache, if set, is a folder in which EmbedPart keeps the output of the network for each image.
	// EmbedPart reuses the outputs that earlier calls, or training with this network as a frozen
	// body, have kept there.
	Cache string
	// Progress, if set, is called by EmbedPart with the number of samples done.
	Progress func(done, total int)

	once   sync.Once // of images
	images *embedder.Embedder
}

// Copy returns a model with the same fields, of which some can be set anew. It shares the network: unless it gets
// another one, only one of the two models may be used at a time.
func (m *Model) Copy() *Model {
	return &Model{Config: m.Config, Net: m.Net, Cache: m.Cache, Progress: m.Progress}
}

// Decoder returns a decoder for pictures from outside a data set. It prepares a picture to
// the same bits as EmbedPart prepares a file.
func (m *Model) Decoder() (*imaging.Decoder, error) {
	img, err := m.Config.Data.imagingConfig(false)
	if err != nil {
		return nil, err
	}
	p, err := prepare.NewPipeline(img)
	if err != nil {
		return nil, err
	}
	d := &m.Config.Data
	return &imaging.Decoder{Smooth: d.Chroma == smoothChroma, RawColours: d.Colours == rawColours, Shrink: p.Shrink},
		nil
}

// LoaderConfig returns how pictures are prepared for the network, without the random changes
// of training. A data.Loader with it prepares the same bits as EmbedPart.
func (m *Model) LoaderConfig() (data.LoaderConfig, error) { return m.Config.Data.loaderConfig(false) }

// Distance returns how embeddings of the model are compared: by the distance that the run used
// for its scores (eval.distance). For an imported model it is the distance that the file
// states, as files written by kindred do. Otherwise it is eval.Cosine, because the length of an
// embedding from an unknown training may mean nothing. If the network normalises its
// embeddings, both distances rank alike.
func (m *Model) Distance() (eval.Distance, error) { return eval.ParseDistance(m.Config.Eval.Distance) }

// Embed returns a row for each image, in their order: the same bits as EmbedPart gives for a file with these pixels,
// whatever other images are embedded at the time. Many goroutines may call it. Images of calls at the same time pass
// the network together, up to 16 at once. It does not change the images. An error concerns the whole call and names
// the image by its position. It returns soon after ctx ends.
func (m *Model) Embed(ctx context.Context, images ...image.Image) (*matrix.Dense, error) {
	read := func(_ *imaging.Decoder, _ *imaging.Image, i int) (image.Image, error) {
		if images[i] == nil {
			return nil, errors.New("no image")
		}
		return images[i], nil
	}
	return m.getEmbedder().Embed(ctx, len(images), read)
}

// EmbedFiles is Embed for the contents of image files, in all formats that package imaging reads. Each is decoded
// as EmbedPart decodes a file: turned upright and converted to sRGB, with the limit imaging.DefaultMaxPixels.
func (m *Model) EmbedFiles(ctx context.Context, files ...[]byte) (*matrix.Dense, error) {
	read := func(d *imaging.Decoder, own *imaging.Image, i int) (image.Image, error) {
		return own, d.Decode(ctx, own, files[i])
	}
	return m.getEmbedder().Embed(ctx, len(files), read)
}

// getEmbedder returns the embedder of the model, which it makes at the first call.
func (m *Model) getEmbedder() *embedder.Embedder {
	m.once.Do(func() {
		cfg, err := m.Config.Data.imagingConfig(false)
		m.images = embedder.New(m.Net, cfg, m.Decoder, err)
	})
	return m.images
}

// EmbedPart computes the embeddings of the samples of p, after converting them to the network's
// size and channels. A sample that cannot be read has no row; with Config.Data.Strict it is an
// error. A second caller waits for the first.
func (m *Model) EmbedPart(ctx context.Context, p *data.Part) (*Embeddings, error) {
	var e *Embeddings
	err := m.getEmbedder().Exclusive(ctx, func() (err error) {
		e, err = m.embedPart(ctx, p)
		return adviseSkipping(err)
	})
	return e, err
}

func (m *Model) embedPart(ctx context.Context, p *data.Part) (*Embeddings, error) {
	f, err := newFeed(p, m.Config.Data, 0, false, false)
	if err != nil {
		return nil, err
	}
	h, w, c := f.Shape()
	if in := m.Net.Spec().Input; in.H != h || in.W != w || in.C != c {
		return nil, fmt.Errorf("data set %s has samples of %d x %d x %d, but the network takes %s", p.Data.Name, h, w,
			c, in)
	}
	if err := feed.CheckMemory(m.Net.Spec(), p.Len(), m.Config.Eval.Batch); err != nil {
		return nil, err
	}
	embedder.CacheFilters(m.Net)
	e := &Embeddings{Part: p}
	if m.Cache != "" && f.Loader != nil {
		kept := feed.NewCache(feed.CacheConfig{Body: m.Net, Prepared: m.Config.Data.prepared(0), Dir: m.Cache,
			Batch: m.Config.Eval.Batch, Progress: m.Progress})
		e.X, e.Pos, err = kept.EvaluationFeatures(ctx, f)
	} else {
		if m.Progress != nil {
			f.ReportProgress(func(done int) { m.Progress(done, p.Len()) })
		}
		e.X, e.Pos, err = f.Embed(ctx, m.Net, m.Config.Eval.Batch)
	}
	if err != nil {
		return nil, err
	}
	stats := f.Stats()
	e.LeftOut, e.Skipped = p.Data.AllLeftOut(stats), stats.Skipped
	return e, nil
}

// Embeddings holds the embeddings of samples of a part. Row i belongs to the sample at position
// Pos[i].
type Embeddings struct {
	X    *matrix.Dense
	Part *data.Part
	Pos  []int
	// LeftOut, set by Model.EmbedPart, lists the samples without a row. Skipped has each sample that could not be
	// read, with its error.
	LeftOut []data.LeftOut
	Skipped []data.Skipped
}

// embedFeed computes the embeddings of a whole part. Unreadable samples have no row.
func embedFeed(ctx context.Context, net train.Network, f *feed.Feed, batch int) (*Embeddings, error) {
	x, pos, err := f.Embed(ctx, net, batch)
	if err != nil {
		return nil, err
	}
	return &Embeddings{X: x, Part: f.Part, Pos: pos}, nil
}

// FineLabels returns the fine label of every row.
func (e *Embeddings) FineLabels() []int64 { return lists.At(e.Part.Fine, e.Pos) }

// rows returns the embeddings with the fine labels; nil if e is nil.
func (e *Embeddings) rows() *validation.Rows {
	if e == nil {
		return nil
	}
	return &validation.Rows{X: e.X, Labels: e.FineLabels()}
}

// recorded returns the embeddings for the run folder.
func (e *Embeddings) recorded() record.Embeddings {
	return record.Embeddings{X: e.X, WriteLabels: e.WriteLabels}
}

// columnSet returns the embeddings with the labels of a scored column; nil if e is nil.
func (e *Embeddings) columnSet(column string) *eval.Set {
	if e == nil {
		return nil
	}
	return &eval.Set{X: e.X, Labels: [][]int64{lists.At(columnLabels(e.Part, column), e.Pos)}}
}

// Labels returns the training label of every row.
func (e *Embeddings) Labels() []int64 { return lists.At(e.Part.Label, e.Pos) }

// Table returns the embeddings with the samples' items. If the set has labels, the table has the column label (the
// fine class), and the column coarse (the training label) if that differs. If its samples may have several labels,
// the column labels has all, as in red|round.
func (e *Embeddings) Table() *embedding.Table {
	p := e.Part
	t := &embedding.Table{X: e.X}
	regions := make([]string, len(e.Pos))
	for row, i := range e.Pos {
		it := p.Data.Item(p.Index[i])
		t.Files, regions[row] = append(t.Files, it.Path), it.Region
	}
	if slices.ContainsFunc(regions, func(r string) bool { return r != "" }) {
		t.Regions = regions
	}
	if p.Fine == nil {
		return t
	}
	fine, coarse := make([]string, len(e.Pos)), make([]string, len(e.Pos))
	for row, i := range e.Pos {
		fine[row], coarse[row] = className(p.FineClasses, p.Fine[i]), className(p.LabelClasses, p.Label[i])
	}
	t.Columns = []embedding.Column{embedding.NewColumn("label", fine)}
	if !slices.Equal(fine, coarse) {
		t.Columns = append(t.Columns, embedding.NewColumn("coarse", coarse))
	}
	if s := p.Data.MultiLabel; s != nil {
		all := make([]string, len(e.Pos))
		for row, i := range e.Pos {
			all[row] = s.Text(p.Index[i])
		}
		t.Columns = append(t.Columns, embedding.NewColumn("labels", all))
	}
	return t
}

// ItemTable is Table for an index: with the column coarse of every set that has coarser labels. Table has it only if it
// is the training label, because commands that read a file of embeddings take it for that.
func (e *Embeddings) ItemTable() *embedding.Table {
	t := e.Table()
	p := e.Part
	if t.Column("label") == nil || t.Column("coarse") != nil || p.Data.Coarse == "" {
		return t
	}
	if ids, classes, err := p.Coarse(); err == nil {
		coarse := make([]string, len(e.Pos))
		for row, i := range e.Pos {
			coarse[row] = className(classes, ids[i])
		}
		at := 1 + slices.IndexFunc(t.Columns, func(c embedding.Column) bool { return c.Name == "label" })
		t.Columns = slices.Insert(t.Columns, at, embedding.NewColumn("coarse", coarse))
	}
	return t
}

// WriteLabels writes the columns of Table, without the embeddings, as CSV.
func (e *Embeddings) WriteLabels(w io.Writer) error {
	t := e.Table()
	t.X = nil
	return embedding.CSV.Write(w, t)
}

func className(names []string, id int64) string {
	if id >= 0 && id < int64(len(names)) {
		return names[id]
	}
	return strconv.FormatInt(id, 10)
}

// columnLabels returns the labels of a scored column.
func columnLabels(p *data.Part, column string) []int64 {
	if column == labelColumn {
		return p.Label
	}
	return p.Fine
}
