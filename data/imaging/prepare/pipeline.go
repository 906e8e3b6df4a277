package prepare

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/kernel/pix"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Fit is the way in which an image of another shape becomes Width x Height. Its text form is
// "stretch" or "cover".
type Fit uint8

// Stretch resizes each side separately. Cover keeps the aspect ratio. It resizes the shorter side
// to s pixels and the longer one to s*longer/shorter, rounded down. Then it cuts off whole pixels,
// equally many at both ends unless an augmentation says otherwise. This is torchvision's Resize and
// CenterCrop, with the same rounding. Stretch cuts as Cover does if Config.Shorter is not 0.
const (
	Stretch Fit = iota
	Cover
)

var fits = enum.New[Fit]("Fit", "way to fit images", "stretch", "cover")

// String gives the text of f.
func (f Fit) String() string { return fits.Name(f) }

// MarshalText gives the text of f.
func (f Fit) MarshalText() ([]byte, error) { return fits.Marshal(f) }

// UnmarshalText reads the text of a Fit.
func (f *Fit) UnmarshalText(text []byte) error { return fits.Unmarshal(f, text) }

// Config describes a Pipeline. The zero value keeps the size and the channels and scales values to
// [0, 1].
type Config struct {
	// Width and Height of the result; 0 keeps those of the image.
	Width, Height int
	// Channels of the result, 1 or 3; 0 keeps those of the image.
	Channels int
	// Fit and Filter of the resizing.
	Fit    Fit
	Filter Filter
	// Shorter is the length in pixels to which Cover resizes the shorter side before it cuts, such
	// as 256 for the usual evaluation at 224. Stretch resizes both sides to it. With 0 as little as
	// possible is cut off.
	Shorter int
	// Normalize maps pixel values to values of the result; the zero value maps them to [0, 1].
	Normalize Normalization
	// Augment describes the random changes made in training.
	Augment Augment
	// Rounded prepares images exactly as Pillow does: see Resizer.Rounded. Values are rounded to 8 bits before
	// normalization, so that ApplyBytes works for every image. Erased pixels then have the byte that is nearest to 0
	// after normalization.
	Rounded bool
}

// Pipeline turns images into normalised samples. It is safe for concurrent use, with a separate
// Scratch for each goroutine.
//
// The steps are: channels; crop, resize and mirror, in one resampling; affine
// map; colours; normalization; shift; erasing; the order of the channels. Values are float32 from
// the resampling on, unless Config.Rounded is set, which puts normalization last. Pixels from outside the image
// are black, or white with the "inverted" normalization. Erased pixels are 0 after normalization.
type Pipeline struct {
	cfg  Config
	norm Normalization
	fill float32
}

// Scratch holds one goroutine's buffers between calls of Pipeline.Apply.
type Scratch struct {
	resizer   Resizer
	raw, bent []float32
	sums      []float32
	bytes     []uint8
	colours   []float32

	// a and b are the factors of a row.
	a, b   []float32
	owner  *Pipeline
	scaled bool
	c      int
}

// factors returns the factors of a row of n values: those of p's normalization if scaled is set,
// else 1 and 0.
func (s *Scratch) factors(p *Pipeline, n, c int, scaled bool) (a, b []float32) {
	if s.owner != p || s.scaled != scaled || s.c != c || len(s.a) != n {
		s.owner, s.scaled, s.c = p, scaled, c
		s.a, s.b = grow(s.a, n), grow(s.b, n)
		if scaled {
			p.norm.inImageOrder(c).factors(s.a, s.b, c)
		} else {
			for i := range s.a {
				s.a[i], s.b[i] = 1, 0
			}
		}
	}
	return s.a, s.b
}

// NewPipeline returns a Pipeline, or an error if cfg is invalid.
func NewPipeline(cfg Config) (*Pipeline, error) {
	if cfg.Width < 0 || cfg.Height < 0 || (cfg.Width == 0) != (cfg.Height == 0) {
		return nil, fmt.Errorf("image size is %d x %d: give both sides or neither", cfg.Width, cfg.Height)
	}
	if cfg.Channels != 0 && cfg.Channels != 1 && cfg.Channels != 3 {
		return nil, fmt.Errorf("channels is %d: must be 1 or 3", cfg.Channels)
	}
	if cfg.Width == 0 && (cfg.Fit == Cover || cfg.Augment.CropArea[1] > 0) {
		return nil, fmt.Errorf("cropping needs the size of the result")
	}
	least := min(cfg.Width, cfg.Height)
	if cfg.Fit == Stretch {
		least = max(cfg.Width, cfg.Height)
	}
	if cfg.Shorter != 0 && (cfg.Width == 0 || cfg.Shorter < least) {
		return nil, fmt.Errorf("shorter side is %d: must be at least the size %d x %d", cfg.Shorter, cfg.Width,
			cfg.Height)
	}
	if err := cfg.Augment.check(); err != nil {
		return nil, err
	}
	if err := cfg.Normalize.check(); err != nil {
		return nil, err
	}
	p := &Pipeline{cfg: cfg, norm: cfg.Normalize.withDefaults()}
	if cfg.Normalize.String() == "inverted" {
		p.fill = 255
	}
	return p, nil
}

// Shape returns height, width and channels of the result of Apply for an image of the given shape.
func (p *Pipeline) Shape(w, h, c int) (height, width, channels int) {
	if p.cfg.Width != 0 {
		w, h = p.cfg.Width, p.cfg.Height
	}
	if p.cfg.Channels != 0 {
		c = p.cfg.Channels
	}
	return h, w, c
}

// minMargin is the least number of pixels in each direction that a picture reduced in decoding keeps
// for a pixel of the result. Then the resampling is as sharp as that of the whole picture. With
// minMarginRounded, which Config.Rounded asks for, values differ from those of the whole picture by at most
// one level of 255, in photographs and in mosaics of them. With 10 it is two levels, with 6 it is five.
const (
	minMargin        = 2
	minMarginRounded = 20
)

// Shrink returns the divisor, 1, 2, 4 or 8, for the sides of an image of w x h pixels while it is
// decoded; see Decoder.Shrink. Every view that Apply takes keeps at least two pixels in each
// direction for a pixel of the result; with Config.Rounded 20, and the sides are multiples of the
// divisor. The divisor depends only on the sizes and the configuration.
func (p *Pipeline) Shrink(w, h int) int {
	if p.cfg.Width == 0 {
		return 1
	}
	fw, fh := float64(w), float64(h)
	tw, th := float64(p.cfg.Width), float64(p.cfg.Height)
	scale := min(fw/tw, fh/th) // pixels of the image for a pixel of the result
	if p.cfg.Shorter > 0 {
		scale = min(scale, min(fw, fh)/float64(p.cfg.Shorter))
	}
	if a := &p.cfg.Augment; a.CropArea[1] > 0 {
		cw, ch := a.smallestCrop(fw, fh)
		scale = min(scale, cw/tw, ch/th)
	}
	shrink, least := 1, minMargin
	if p.cfg.Rounded {
		least = minMarginRounded
	}
	for shrink < 8 && scale >= float64(2*shrink*least) && !(p.cfg.Rounded && (w|h)&(2*shrink-1) != 0) {
		shrink *= 2
	}
	return shrink
}

// Apply writes the sample of im to dst: height x width x channels values. It may change im. All
// randomness comes from rng. If rng is nil, nothing is random, as in evaluations. It panics if dst
// has the wrong length.
func (p *Pipeline) Apply(dst []float32, im *imaging.Image, rng *rand.Rand, s *Scratch) {
	h, w, c := p.Shape(im.W, im.H, im.C)
	if len(dst) != h*w*c {
		panic(fmt.Sprintf("imaging: %d values for a sample of %d x %d x %d", len(dst), h, w, c))
	}
	p.apply(dst, im, h, w, c, rng, s)
	if p.norm.swapsChannels(c) {
		swap(dst)
	}
}

// swap exchanges the first and the last of three channels.
func swap[T float32 | uint8](v []T) {
	for i := 0; i+2 < len(v); i += 3 {
		v[i], v[i+2] = v[i+2], v[i]
	}
}

// apply is Apply with the channels in the image's own order.
func (p *Pipeline) apply(dst []float32, im *imaging.Image, h, w, c int, rng *rand.Rand, s *Scratch) {
	if p.cfg.Rounded {
		s.bytes = grow(s.bytes, len(dst))
		p.applyBytes(s.bytes, im, h, w, c, rng, s)
		ra, rb := s.factors(p, w*c, c, true)
		for at := 0; at < len(dst); at += len(ra) {
			pix.Affine(dst[at:at+len(ra)], s.bytes[at:at+len(ra)], ra, rb)
		}
		return
	}
	im.SetChannels(c)
	a := &p.cfg.Augment
	part := p.chooseView(im, rng)
	if rng == nil {
		p.placeView(dst, im, part, w, h, false, true, s)
		return
	}
	flip := a.Flip > 0 && rng.Float64() < a.Flip
	if !a.hasAffine() && !a.hasJitter() {
		p.placeView(dst, im, part, w, h, flip, true, s)
	} else {
		s.raw = grow(s.raw, w*h*im.C)
		p.placeView(s.raw, im, part, w, h, flip, false, s)
		v := p.warpValues(s.raw, w, h, c, rng, s)
		if a.hasJitter() {
			s.sums = grow(s.sums, w*c)
			var scale, add [3]float32
			p.norm.inImageOrder(c).factors(scale[:c], add[:c], c)
			a.jitter(dst, v, h, c, scale, add, s.sums, rng)
		} else {
			ra, rb := s.factors(p, w*c, c, true)
			simd.ScaleShift(dst, v, ra, rb, simd.Linear())
		}
	}
	if a.Pad > 0 {
		px, py := int(math.Round(a.Pad*float64(w))), int(math.Round(a.Pad*float64(h)))
		shift(dst, w, h, c, rng.IntN(2*px+1)-px, rng.IntN(2*py+1)-py, p.fillValues(c))
	}
	if a.Erase > 0 && rng.Float64() < a.Erase {
		if x, y, ew, eh, ok := eraseBox(w, h, rng); ok {
			for row := y; row < y+eh; row++ {
				clear(dst[(row*w+x)*c : (row*w+x+ew)*c])
			}
		}
	}
}

// warpValues returns values of w x h pixels under an affine map drawn from rng.
func (p *Pipeline) warpValues(v []float32, w, h, c int, rng *rand.Rand, s *Scratch) []float32 {
	a := &p.cfg.Augment
	if !a.hasAffine() {
		return v
	}
	s.bent = grow(s.bent, len(v))
	warp(s.bent, v, w, h, c, a.affine(w, h, rng), p.fill)
	return s.bent
}

// placeView writes a view of im at w x h to dst, normalised if scaled is set.
func (p *Pipeline) placeView(dst []float32, im *imaging.Image, v view, w, h int, flip, scaled bool, s *Scratch) {
	a, b := s.factors(p, w*im.C, im.C, scaled)
	if !v.isWhole(im) {
		s.resizer.Filter, s.resizer.Rounded = p.cfg.Filter, p.cfg.Rounded
		s.resizer.resample(dst, im, v, w, h, flip, a, b)
		return
	}
	for y := range h {
		row := dst[y*len(a) : (y+1)*len(a)]
		pix.Affine(row, im.Row(y), a, b)
		if flip {
			mirror(row, im.C)
		}
	}
}

// fillValues returns the normalised value of pixels from outside the image, for each of c channels.
func (p *Pipeline) fillValues(c int) (v [3]float32) {
	n := p.norm.inImageOrder(c)
	for k := range v {
		v[k] = (p.fill/255 - n.Mean[k]) / n.Std[k]
	}
	return v
}

// isWhole reports whether v is im as it is.
func (v view) isWhole(im *imaging.Image) bool {
	return v == view{box: Box{0, 0, float64(im.W), float64(im.H)}, w: im.W, h: im.H}
}

// chooseView returns what of im becomes the result.
func (p *Pipeline) chooseView(im *imaging.Image, rng *rand.Rand) view {
	a, tw, th := &p.cfg.Augment, p.cfg.Width, p.cfg.Height
	v := view{box: Box{0, 0, float64(im.W), float64(im.H)}, w: tw, h: th}
	switch {
	case tw == 0:
		v.w, v.h = im.W, im.H
		return v
	case rng != nil && a.CropArea[1] > 0:
		v.box = a.cropBox(im.W, im.H, rng)
		return v
	case p.cfg.Fit == Cover:
		v.w, v.h = p.coverSize(im.W, im.H)
	case p.cfg.Shorter > 0:
		v.w, v.h = p.cfg.Shorter, p.cfg.Shorter
	default:
		return v
	}
	v.x, v.y = centerOffset(v.w-tw), centerOffset(v.h-th)
	if rng != nil && a.RandomCrop {
		v.x, v.y = int(rng.Float64()*float64(v.w-tw+1)), int(rng.Float64()*float64(v.h-th+1))
	}
	return v
}

// coverSize returns the size in whole pixels to which Cover resizes an image before it cuts. It is
// the size of torchvision's Resize, which rounds the longer side down.
func (p *Pipeline) coverSize(w, h int) (cw, ch int) {
	if s := p.cfg.Shorter; s > 0 {
		if cw, ch = s, s*h/w; h < w {
			cw, ch = s*w/h, s
		}
		if cw >= p.cfg.Width && ch >= p.cfg.Height {
			return cw, ch
		}
	}
	if p.cfg.Width*h >= p.cfg.Height*w {
		return p.cfg.Width, p.cfg.Width * h / w
	}
	return p.cfg.Height * w / h, p.cfg.Height
}

// centerOffset returns the number of pixels to cut off before the kept part, half of spare. It rounds
// halves to even, as Python and therefore torchvision's CenterCrop do.
func centerOffset(spare int) int { return int(math.RoundToEven(float64(spare) / 2)) }
