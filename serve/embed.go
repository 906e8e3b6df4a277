package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/batch"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
	"github.com/kindred-ml/kindred/matrix"
)

// Embedder makes vectors of pictures. Network makes an Embedder of a trained network.
type Embedder interface {
	// Decode reads an image file as the network's training did, within maxPixels. It returns once
	// its work has ended, soon after ctx. Many goroutines call it.
	Decode(ctx context.Context, p *imaging.Picture, maxPixels int) (*imaging.Image, error)
	// Embed returns a row for each picture. One goroutine at a time calls it. It may change
	// the pictures.
	Embed(ctx context.Context, pictures []*imaging.Image) (*matrix.Dense, error)
}

// TextEmbedder makes vectors of texts that can be compared with those of pictures, as a text tower does.
// Many goroutines call it.
type TextEmbedder interface {
	// Embed returns a row for each text.
	Embed(ctx context.Context, texts []string) (*matrix.Dense, error)
}

// maxTextBytes bounds a text in bytes.
const maxTextBytes = 4096

// embedText returns the vector of words, of unit length.
func (s *Server) embedText(ctx context.Context, c *servedCollection, text string) ([]float32, error) {
	if c.TextEmbedder == nil {
		return nil, invalid.newProblem("Search by a picture, an id or a vector.",
			"the collection %s cannot be searched by words: %s",
			c.Name, cmp.Or(c.NoTextReason, "it has no text tower"))
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.Time)
	defer cancel()
	x, err := c.TextEmbedder.Embed(ctx, []string{text})
	if err == nil {
		err = textencoder.NormalizeRows(x)
	}
	if err != nil {
		return nil, fmt.Errorf("embedding words: %w", err)
	}
	return x.Row(0), nil
}

// Shrinker is an Embedder that reduces JPEG files while it decodes them to the size that its network
// needs, so that a large photo takes little memory.
type Shrinker interface {
	// Shrink returns the divisor of the sides of an upright picture: 1, 2, 4 or 8.
	Shrink(w, h int) int
}

// Sizer is an Embedder that knows to which size it reduces pictures.
type Sizer interface {
	// Side returns the length in pixels of the longer side.
	Side() int
}

// pictureSide returns the side of an embedder's pictures, or 0 if it is unknown.
func pictureSide(e Embedder) int {
	if s, ok := e.(Sizer); ok {
		return s.Side()
	}
	return 0
}

// decode decodes the picture of a request. Before that it checks the size in the picture's header. It takes memory
// from the request's loan before it is used. The work has ended when decode returns, so the loan and the request's
// place are never free while it goes on.
func (s *Server) decode(ctx context.Context, e Embedder, file []byte, l *memoryLoan) (im *imaging.Image, err error) {
	return im, s.withPicture(ctx, file, l, func(p *imaging.Picture) error {
		if p.W > s.limits.Pixels/p.H {
			return tooLarge.newProblem("Make it smaller, or start the server with a larger limit on pixels.",
				"the picture has %d x %d pixels, but only %d are allowed", p.W, p.H, s.limits.Pixels)
		}
		if err := l.take(decodingBytes(&p.Header, e), "the picture"); err != nil {
			return err
		}
		im, err = e.Decode(ctx, p, s.limits.Pixels)
		return err
	})
}

// withPicture reads the header of an image file of a request and calls use with it. Errors other than problems are
// about the file.
func (s *Server) withPicture(ctx context.Context, file []byte, l *memoryLoan, use func(*imaging.Picture) error) error {
	free, err := s.decoders.acquire(ctx, file)
	if err != nil {
		return err
	}
	defer free()
	structure := imaging.StructureBytes(file, int64(len(file)))
	if err := l.take(structure, "the picture's structure"); err != nil {
		return err
	}
	defer l.give(structure)
	p, err := imaging.Open(ctx, file)
	if err == nil {
		err = use(p)
	}
	var own *problem
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return badPicture.newProblem("Send a file of one of these formats: "+imaging.FormatNames()+".", "%s",
		escape.ClipTo(err.Error(), 300))
}

// decodingBytes returns the memory that e needs to decode a picture.
func decodingBytes(h *imaging.Header, e any) int64 {
	shrink := 1
	if s, ok := e.(Shrinker); ok { // the picture may lie on its side
		shrink = min(s.Shrink(h.W, h.H), s.Shrink(h.H, h.W))
	}
	return h.Bytes(shrink)
}

// embed returns the vector of a picture that came with a request.
func (s *Server) embed(ctx context.Context, c *servedCollection, file []byte, l *memoryLoan) ([]float32, error) {
	if c.embedQueue == nil {
		return nil, invalid.newProblem(
			"Send a vector or an id; or start the server with a collection that has its network.",
			"the collection %s has no network to embed pictures", c.Name)
	}
	im, err := s.decode(ctx, c.Embedder, file, l)
	if err != nil {
		return nil, err
	}
	return c.embedQueue.embed(ctx, im)
}

// maxBatch is the most pictures that are embedded together.
const maxBatch = 16

// embedQueue embeds together the pictures of requests that arrive while the network is busy.
type embedQueue struct {
	embedder Embedder
	ctx      context.Context // of the collection
	time     time.Duration   // time limit of a batch
	queue    *batch.Queue[*job]
	metrics  *metrics
	log      *slog.Logger
}

// job is a picture on its way to its vector.
type job struct {
	picture *imaging.Image
	vector  []float32
	err     error
}

func newEmbedQueue(ctx context.Context, by Embedder, time time.Duration, m *metrics, log *slog.Logger) *embedQueue {
	c := &embedQueue{embedder: by, ctx: ctx, time: time, metrics: m, log: log}
	c.queue = batch.New(maxBatch, c.embedJobs)
	return c
}

// embed returns the picture's vector. When ctx ends it returns at once, unless the picture is being
// embedded: its memory is in use until then.
func (c *embedQueue) embed(ctx context.Context, im *imaging.Image) ([]float32, error) {
	j := &job{picture: im}
	if err := c.queue.Do(ctx, j); err != nil {
		return nil, err
	}
	return j.vector, j.err
}

// embedJobs embeds a batch.
func (c *embedQueue) embedJobs(jobs []*job) {
	c.metrics.batch.Observe(float64(len(jobs)))
	start := time.Now()
	err := c.embedBatch(jobs)
	if err != nil && len(jobs) > 1 {
		// One picture may be the reason: the others are embedded one by one.
		for _, j := range jobs {
			j.err = c.embedBatch([]*job{j})
		}
	} else {
		for _, j := range jobs {
			j.err = err
		}
	}
	c.metrics.embedding.Observe(time.Since(start).Seconds())
}

// embedBatch embeds the jobs in one batch. A panic of the network becomes an error, and its stack is logged.
func (c *embedQueue) embedBatch(jobs []*job) (err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.time)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("embedding %d pictures: panic: %v", len(jobs), p)
		}
	}()
	pictures := make([]*imaging.Image, len(jobs))
	for i, j := range jobs {
		pictures[i] = j.picture
	}
	x, err := c.embedder.Embed(ctx, pictures)
	if err != nil {
		return fmt.Errorf("embedding %d pictures: %w", len(jobs), err)
	}
	if x.Rows != len(jobs) {
		return fmt.Errorf("embedding %d pictures gave %d vectors", len(jobs), x.Rows)
	}
	for i, j := range jobs {
		j.vector = append([]float32(nil), x.Row(i)...)
		for _, v := range j.vector {
			if v-v != 0 {
				return fmt.Errorf("embedding a picture gave a vector with %v in it", v)
			}
		}
	}
	return nil
}
