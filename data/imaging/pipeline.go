package imaging

import (
	"fmt"
	"math/rand/v2"
)

// Config says what a Pipeline makes of an image. The zero value keeps the size
// and the channels and scales to [0, 1].
type Config struct {
	// Width and Height of the result; 0 keeps the image's.
	Width, Height int
	// Channels of the result, 1 or 3; 0 keeps the image's.
	Channels int
	// Filter of the resizing.
	Filter Filter
	// Normalize names a normalization preset; see ParseNormalization.
	Normalize string
}

// Pipeline turns images into normalised samples. It is safe for concurrent use;
// each goroutine brings its own Scratch.
type Pipeline struct {
	cfg   Config
	table *table
}

// Scratch holds one goroutine's buffers between calls of Pipeline.Apply.
type Scratch struct {
	resizer Resizer
	a       Image
}

// NewPipeline checks cfg.
func NewPipeline(cfg Config) (*Pipeline, error) {
	if cfg.Width < 0 || cfg.Height < 0 || (cfg.Width == 0) != (cfg.Height == 0) {
		return nil, fmt.Errorf("image size %d x %d; give both sides or none", cfg.Width, cfg.Height)
	}
	if cfg.Channels != 0 && cfg.Channels != 1 && cfg.Channels != 3 {
		return nil, fmt.Errorf("%d channels; images have 1 or 3", cfg.Channels)
	}
	n, err := ParseNormalization(cfg.Normalize)
	if err != nil {
		return nil, err
	}
	return &Pipeline{cfg: cfg, table: n.table()}, nil
}

// Shape returns height, width and channels of what Apply makes of an image of
// the given shape.
func (p *Pipeline) Shape(w, h, c int) (height, width, channels int) {
	if p.cfg.Width != 0 {
		w, h = p.cfg.Width, p.cfg.Height
	}
	if p.cfg.Channels != 0 {
		c = p.cfg.Channels
	}
	return h, w, c
}

// Apply writes the sample that im becomes to dst, height x width x channels
// values. im may be changed. rng gives all randomness; nil means none (the
// evaluation's view of the image). It panics if dst has the wrong length.
func (p *Pipeline) Apply(dst []float32, im *Image, rng *rand.Rand, s *Scratch) {
	h, w, c := p.Shape(im.W, im.H, im.C)
	if len(dst) != h*w*c {
		panic(fmt.Sprintf("imaging: %d values for a sample of %d x %d x %d", len(dst), h, w, c))
	}
	im.SetChannels(c)
	if im.W != w || im.H != h {
		s.resizer.Filter = p.cfg.Filter
		s.resizer.Resize(&s.a, im, Box{0, 0, float64(im.W), float64(im.H)}, w, h)
		im = &s.a
	}
	p.table.apply(im, dst)
}
