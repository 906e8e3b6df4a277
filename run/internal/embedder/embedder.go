// Package embedder embeds images one by one: those of many goroutines pass the network together.
package embedder

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"sync"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/base/batch"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run/internal/feed"
)

// maxBatch is the most images of a pass of the network.
const maxBatch = 16

// Embedder embeds images of many goroutines with one network.
type Embedder struct {
	net       *nn.Net
	pipeline  *prepare.Pipeline
	queue     *batch.Queue[*preparedImage]
	preparers sync.Pool // of *preparer
	x         []float32 // a batch
	err       error     // why images cannot be embedded
}

// preparer holds what one goroutine at a time needs to prepare an image.
type preparer struct {
	decoder *imaging.Decoder
	scratch prepare.Scratch
	image   imaging.Image
	x       []float32 // the prepared image
}

// preparedImage is an image on its way to its embedding.
type preparedImage struct {
	x, row []float32
	err    error
}

// New returns the embedder of a network. cfg says how images are prepared, and decoder makes a decoder for them. err,
// if not nil, is why images cannot be embedded.
func New(net *nn.Net, cfg prepare.Config, decoder func() (*imaging.Decoder, error), err error) *Embedder {
	e := &Embedder{net: net, err: err}
	e.queue = batch.New(maxBatch, e.infer)
	in := net.Spec().Input
	if e.err == nil {
		cfg.Channels = cmp.Or(cfg.Channels, in.C)
		e.pipeline, e.err = prepare.NewPipeline(cfg)
	}
	if e.err == nil {
		_, e.err = decoder()
	}
	e.preparers.New = func() any {
		d, _ := decoder() // it succeeded before
		return &preparer{decoder: d, x: make([]float32, in.Len())}
	}
	return e
}

// Exclusive calls f while the network is not used otherwise.
func (e *Embedder) Exclusive(ctx context.Context, f func() error) error {
	return e.queue.DoExclusive(ctx, f)
}

// Embed embeds n images, each of which a goroutine gets from read, with a decoder and an image of its own.
func (e *Embedder) Embed(ctx context.Context, n int,
	read func(d *imaging.Decoder, own *imaging.Image, i int) (image.Image, error)) (*matrix.Dense, error) {
	if e.err != nil {
		return nil, e.err
	}
	if err := feed.CheckMemory(e.net.Spec(), n, maxBatch); err != nil {
		return nil, err
	}
	out := matrix.New(n, e.net.Dim())
	embed := func(ctx context.Context, i int) error {
		return e.embed(ctx, out.Row(i), func(p *preparer) (image.Image, error) { return read(p.decoder, &p.image, i) })
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
	for range min(n, 2*maxBatch) { // one batch passes while the next is prepared
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

// embed sets row to the embedding of an image.
func (e *Embedder) embed(ctx context.Context, row []float32, read func(*preparer) (image.Image, error)) error {
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
func (e *Embedder) prepare(p *preparer, read func(*preparer) (image.Image, error)) (err error) {
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
func (e *Embedder) infer(jobs []*preparedImage) {
	defer func() {
		if r := recover(); r != nil {
			for _, j := range jobs {
				j.err = fmt.Errorf("internal error while embedding %d images: %v", len(jobs), r)
			}
		}
	}()
	CacheFilters(e.net)
	e.x = e.x[:0]
	for _, j := range jobs {
		e.x = append(e.x, j.x...)
	}
	out := e.net.Infer(e.x, len(jobs))
	for i, j := range jobs {
		copy(j.row, out.Row(i))
	}
}

// CacheFilters has the network, whose parameters do not change, keep its filters as kernels read
// them, where that takes at most a quarter of the limit.
func CacheFilters(net *nn.Net) {
	const most = 5 // times the parameters
	need, err := net.Spec().Memory()
	net.SetConstant(err == nil && budget.Product(4*most*4, need.Params) <= budget.Limit())
}
