package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"sync"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/batch"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
)

// maxEmbedBatch is the most images of a pass of the network in Model.Embed.
const maxEmbedBatch = 16

// Embed returns a row for each image, in their order: the same bits as EmbedPart gives for a file with these pixels,
// whatever other images are embedded at the time. Many goroutines may call it. Images of calls at the same time pass
// the network together, up to 16 at once. It does not change the images. An error concerns the whole call and names
// the image by its position. It returns soon after ctx ends.
func (m *Model) Embed(ctx context.Context, images ...image.Image) (*matrix.Dense, error) {
	return m.embedImages(ctx, len(images), func(_ *preparer, i int) (image.Image, error) {
		if images[i] == nil {
			return nil, errors.New("no image")
		}
		return images[i], nil
	})
}

// EmbedFiles is Embed for the contents of image files, in all formats that package imaging reads. Each is decoded
// as EmbedPart decodes a file: turned upright and converted to sRGB, with the limit imaging.DefaultMaxPixels.
func (m *Model) EmbedFiles(ctx context.Context, files ...[]byte) (*matrix.Dense, error) {
	return m.embedImages(ctx, len(files), func(p *preparer, i int) (image.Image, error) {
		err := p.decoder.Decode(ctx, &p.image, files[i])
		return &p.image, err
	})
}

// embedImages embeds n images, each of which a goroutine gets from read.
func (m *Model) embedImages(ctx context.Context, n int, read func(p *preparer, i int) (image.Image,
	error)) (*matrix.Dense,
	error) {
	e := m.getEmbedder()
	if e.err != nil {
		return nil, e.err
	}
	if err := checkEmbedding(m.Net.Spec(), n, maxEmbedBatch); err != nil {
		return nil, err
	}
	out := matrix.New(n, m.Net.Dim())
	embed := func(ctx context.Context, i int) error {
		return e.embed(ctx, out.Row(i), func(p *preparer) (image.Image, error) { return read(p, i) })
	}
	if n == 1 {
		if err := embed(ctx, 0); err != nil {
			return nil, err
		}
		return out, nil
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, 2*maxEmbedBatch) { // one batch passes while the next is prepared
		all.Go(func() {
			for i := range next {
				if err := embed(ctx, i); err != nil { // if ctx has ended, its cause stays
					fail(fmt.Errorf("image %d of %d: %w", i, n, err))
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// embedder embeds images of many goroutines with one network.
type embedder struct {
	net       *nn.Net
	pipeline  *imaging.Pipeline
	queue     *batch.Queue[*preparedImage]
	preparers sync.Pool // of *preparer
	x         []float32 // a batch
	err       error     // why images cannot be embedded
}

// preparer holds what one goroutine at a time needs to prepare an image.
type preparer struct {
	decoder *imaging.Decoder
	scratch imaging.Scratch
	image   imaging.Image
	x       []float32 // the prepared image
}

// preparedImage is an image on its way to its embedding.
type preparedImage struct {
	x, row []float32
	err    error
}

// getEmbedder returns the embedder of the model, which it makes at the first call.
func (m *Model) getEmbedder() *embedder {
	m.once.Do(func() {
		e := &embedder{net: m.Net}
		e.queue = batch.New(maxEmbedBatch, e.infer)
		m.images = e
		in := m.Net.Spec().Input
		cfg, err := m.Config.Data.imagingConfig(false)
		if err == nil {
			cfg.Channels = cmp.Or(cfg.Channels, in.C)
			e.pipeline, err = imaging.NewPipeline(cfg)
		}
		if err == nil {
			_, err = m.Decoder()
		}
		if e.err = err; err != nil {
			return
		}
		e.preparers.New = func() any {
			decoder, _ := m.Decoder() // it succeeded before
			return &preparer{decoder: decoder, x: make([]float32, in.Len())}
		}
	})
	return m.images
}

// embed sets row to the embedding of an image.
func (e *embedder) embed(ctx context.Context, row []float32, read func(*preparer) (image.Image, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := e.preparers.Get().(*preparer)
	if err := e.prepare(p, read); err != nil {
		return err // the preparer may be in disorder
	}
	job := &preparedImage{x: p.x, row: row}
	err := e.queue.Do(ctx, job)
	e.preparers.Put(p)
	return cmp.Or(err, job.err)
}

// prepare sets p.x to a prepared image. A panic of a decoder or of an image's method becomes an error.
func (e *embedder) prepare(p *preparer, read func(*preparer) (image.Image, error)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error while reading the image: %v", r)
		}
	}()
	src, err := read(p)
	if err != nil {
		return err
	}
	in := e.net.Spec().Input
	im, ok := src.(*imaging.Image)
	if !ok || im.C != in.C && im != &p.image { // Apply changes the channels in place
		im = imaging.FromImage(src)
	}
	if h, w, c := e.pipeline.Shape(im.W, im.H, in.C); im.W < 1 || im.H < 1 || h != in.H || w != in.W || c != in.C {
		return fmt.Errorf("an image of %d x %d pixels becomes %d x %d x %d, but the network takes %s", im.W, im.H, h, w,
			c, in)
	}
	e.pipeline.Apply(p.x, im, nil, &p.scratch)
	return nil
}

// infer passes a batch through the network. A panic becomes the error of its images.
func (e *embedder) infer(jobs []*preparedImage) {
	defer func() {
		if r := recover(); r != nil {
			for _, j := range jobs {
				j.err = fmt.Errorf("internal error while embedding %d images: %v", len(jobs), r)
			}
		}
	}()
	cacheFilters(e.net)
	e.x = e.x[:0]
	for _, j := range jobs {
		e.x = append(e.x, j.x...)
	}
	out := e.net.Infer(e.x, len(jobs))
	for i, j := range jobs {
		copy(j.row, out.Row(i))
	}
}
