package run

import (
	"context"
	"io"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
)

// feed gives the samples of a part in batches: images through a data.Loader, or
// rows of ready features.
type feed interface {
	epoch(ctx context.Context, epoch int, batches [][]int) stream
	sequential(ctx context.Context, size int) stream
	shape() (h, w, c int)
	stats() data.Stats
}

// stream is one pass of a feed. See data.Stream.
type stream interface {
	Next() (*data.Batch, error)
	Close()
}

// newFeed returns the feed of a part, as cfg says how to prepare images. augment
// allows the random changes of training, which epochs, not passes in sequence,
// then have.
func newFeed(p *data.Part, cfg DataConfig, seed uint64, augment bool) (feed, error) {
	if p.Data.Features != nil {
		return featureFeed{p}, nil
	}
	pixels, err := imaging.ParseNormalization(cfg.Pixels)
	if err != nil {
		return nil, err
	}
	img := imaging.Config{Width: cfg.Size, Height: cfg.Size, Channels: cfg.Channels, Normalize: pixels,
		Shorter: cfg.Shorter}
	if cfg.Fit == "cover" {
		img.Fit = imaging.Cover
	}
	if augment {
		a, err := imaging.ParseAugment(cfg.Augment)
		if err != nil {
			return nil, err
		}
		img.Augment = a
	}
	l, err := data.NewLoader(p, data.LoaderConfig{Image: img, Seed: seed, SkipCorrupt: cfg.SkipCorrupt})
	if err != nil {
		return nil, err
	}
	return imageFeed{l}, nil
}

type imageFeed struct{ l *data.Loader }

func (f imageFeed) epoch(ctx context.Context, epoch int, batches [][]int) stream {
	return f.l.Epoch(ctx, epoch, batches)
}

func (f imageFeed) sequential(ctx context.Context, size int) stream {
	return f.l.Sequential(ctx, size)
}

func (f imageFeed) shape() (h, w, c int) { return f.l.Shape() }
func (f imageFeed) stats() data.Stats    { return f.l.Stats() }

// featureFeed serves rows of Dataset.Features as images of 1 x 1 x n.
type featureFeed struct{ p *data.Part }

func (f featureFeed) shape() (h, w, c int) { return 1, 1, f.p.Data.Features.Cols }
func (f featureFeed) stats() data.Stats    { return data.Stats{} }

func (f featureFeed) epoch(ctx context.Context, _ int, batches [][]int) stream {
	return &featureStream{ctx: ctx, p: f.p, batches: batches}
}

func (f featureFeed) sequential(ctx context.Context, size int) stream {
	return f.epoch(ctx, 0, runs(f.p.Len(), size))
}

// runs cuts 0..n-1 into consecutive batches.
func runs(n, size int) [][]int {
	var out [][]int
	for at := 0; at < n; at += size {
		b := make([]int, min(size, n-at))
		for i := range b {
			b[i] = at + i
		}
		out = append(out, b)
	}
	return out
}

type featureStream struct {
	ctx     context.Context
	p       *data.Part
	batches [][]int
	b       data.Batch
}

func (s *featureStream) Close() {}

// Next gathers the rows of the next batch into memory that is reused.
func (s *featureStream) Next() (*data.Batch, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.batches) == 0 {
		return nil, io.EOF
	}
	pos := s.batches[0]
	s.batches = s.batches[1:]
	x := s.p.Data.Features
	b := &s.b
	b.N, b.H, b.W, b.C, b.Pos = len(pos), 1, 1, x.Cols, pos
	b.Pixels, b.Label, b.Fine = b.Pixels[:0], b.Label[:0], b.Fine[:0]
	for _, i := range pos {
		b.Pixels = append(b.Pixels, x.Row(s.p.Index[i])...)
		b.Label = append(b.Label, s.p.Label[i])
		b.Fine = append(b.Fine, s.p.Fine[i])
	}
	return b, nil
}
