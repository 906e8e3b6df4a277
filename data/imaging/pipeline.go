package imaging

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Fit says how an image of another shape becomes Width x Height.
type Fit int

// Fits. Stretch resizes each side on its own. Cover keeps the aspect ratio: it
// resizes the shorter side and cuts off what is too much, from the centre unless
// an augmentation says otherwise.
const (
	Stretch Fit = iota
	Cover
)

// Config says what a Pipeline makes of an image. The zero value keeps the size
// and the channels and scales to [0, 1].
type Config struct {
	// Width and Height of the result; 0 keeps the image's.
	Width, Height int
	// Channels of the result, 1 or 3; 0 keeps the image's.
	Channels int
	// Fit and Filter of the resizing.
	Fit    Fit
	Filter Filter
	// Shorter is the length in pixels that Cover brings the shorter side to
	// before it cuts: 256 for the usual 256-to-224 evaluation. 0 means as
	// little as possible is cut off.
	Shorter int
	// Normalize names a normalization preset; see ParseNormalization.
	Normalize string
	// Augment says what random changes are made in training.
	Augment Augment
}

// Pipeline turns images into normalised samples. It is safe for concurrent use;
// each goroutine brings its own Scratch.
//
// The steps are: channels; crop and resize, in one resampling; shift; affine
// map; mirror; colours; normalization; erasing. Pixels that come from outside
// the image are black (white with the "inverted" normalization), erased ones are
// 0 after normalization.
type Pipeline struct {
	cfg   Config
	table *table
	fill  uint8
}

// Scratch holds one goroutine's buffers between calls of Pipeline.Apply.
type Scratch struct {
	resizer Resizer
	a, b    Image
}

// NewPipeline checks cfg.
func NewPipeline(cfg Config) (*Pipeline, error) {
	if cfg.Width < 0 || cfg.Height < 0 || (cfg.Width == 0) != (cfg.Height == 0) {
		return nil, fmt.Errorf("image size %d x %d; give both sides or none", cfg.Width, cfg.Height)
	}
	if cfg.Channels != 0 && cfg.Channels != 1 && cfg.Channels != 3 {
		return nil, fmt.Errorf("%d channels; images have 1 or 3", cfg.Channels)
	}
	if cfg.Width == 0 && (cfg.Fit == Cover || cfg.Augment.CropArea[1] > 0) {
		return nil, fmt.Errorf("cropping needs the size to bring the images to")
	}
	if cfg.Shorter != 0 && (cfg.Fit != Cover || cfg.Shorter < min(cfg.Width, cfg.Height)) {
		return nil, fmt.Errorf("shorter side %d: it takes the cover fit and is at least the size %d x %d", cfg.Shorter, cfg.Width, cfg.Height)
	}
	if err := cfg.Augment.check(); err != nil {
		return nil, err
	}
	n, err := ParseNormalization(cfg.Normalize)
	if err != nil {
		return nil, err
	}
	p := &Pipeline{cfg: cfg, table: n.table()}
	if n == normInverted {
		p.fill = 255
	}
	return p, nil
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
	a := &p.cfg.Augment
	im.SetChannels(c)
	if box := p.box(im, rng); im.W != w || im.H != h || box != (Box{0, 0, float64(w), float64(h)}) {
		s.resizer.Filter = p.cfg.Filter
		s.resizer.Resize(&s.a, im, box, w, h)
		im = &s.a
	}
	if rng == nil {
		p.table.apply(im, dst)
		return
	}
	// other is whichever buffer im is not.
	other := func() *Image {
		if im == &s.b {
			return &s.a
		}
		return &s.b
	}
	if a.Pad > 0 {
		px, py := int(math.Round(a.Pad*float64(w))), int(math.Round(a.Pad*float64(h)))
		dx, dy := rng.IntN(2*px+1)-px, rng.IntN(2*py+1)-py
		o := other()
		shift(o, im, dx, dy, p.fill)
		im = o
	}
	if a.bends() {
		o := other()
		warp(o, im, a.affine(w, h, rng), p.fill)
		im = o
	}
	if a.Flip > 0 && rng.Float64() < a.Flip {
		im.mirror()
	}
	if a.jitters() {
		a.jitter(im, rng)
	}
	p.table.apply(im, dst)
	if a.Erase > 0 && rng.Float64() < a.Erase {
		if x, y, ew, eh, ok := eraseBox(w, h, rng); ok {
			for row := y; row < y+eh; row++ {
				clear(dst[(row*w+x)*c : (row*w+x+ew)*c])
			}
		}
	}
}

// box returns the part of im that is resized to the result.
func (p *Pipeline) box(im *Image, rng *rand.Rand) Box {
	w, h := float64(im.W), float64(im.H)
	a := &p.cfg.Augment
	if rng != nil && a.CropArea[1] > 0 {
		return a.cropBox(im.W, im.H, rng)
	}
	if p.cfg.Fit == Stretch {
		return Box{0, 0, w, h}
	}
	// scale is input pixels per output pixel.
	tw, th := float64(p.cfg.Width), float64(p.cfg.Height)
	scale := min(w/tw, h/th)
	if p.cfg.Shorter > 0 {
		scale = min(scale, min(w, h)/float64(p.cfg.Shorter))
	}
	bw, bh := min(w, tw*scale), min(h, th*scale)
	fx, fy := 0.5, 0.5
	if rng != nil && a.RandomCrop {
		fx, fy = rng.Float64(), rng.Float64()
	}
	x, y := fx*(w-bw), fy*(h-bh)
	return Box{x, y, min(x+bw, w), min(y+bh, h)}
}
