package prepare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/kernel/pix"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Augment describes the random changes of training images. The zero value changes nothing.
// Numbers are drawn from the generator of Pipeline.Apply in a fixed order.
//
// Its text form is the name of a preset; see ParseAugment.
type Augment struct {
	// CropArea, if its upper end is not 0, cuts out a random part of the image, as torchvision's
	// RandomResizedCrop does. The part's fraction of the area is in CropArea, and its aspect
	// ratio in CropRatio (default 3/4 to 4/3).
	CropArea, CropRatio [2]float64
	// RandomCrop makes a Cover fit cut at a random place instead of the centre.
	RandomCrop bool
	// Pad moves the image by up to this fraction of its sides in each direction, as padding and
	// random cropping does.
	Pad float64
	// Flip is the probability of a mirror image.
	Flip float64
	// Rotate and Shear are the largest angles in degrees, in both directions. Move is the largest
	// shift as a fraction of the sides, and Scale the range of the factor (default 1). All refer
	// to the centre and are resampled bilinearly.
	Rotate, Shear, Move float64
	Scale               [2]float64
	// Brightness, Contrast and Saturation v multiply by a factor in [1-v, 1+v]. Hue v turns the
	// hue by up to v of the full circle in both directions (at most 0.5).
	Brightness, Contrast, Saturation, Hue float64
	// Erase is the probability of blanking a rectangle with 2 % to 1/3 of the area and an aspect
	// ratio of 0.3 to 3.3 (random erasing).
	Erase float64
}

// Augmentations returns the names of the presets of ParseAugment.
func Augmentations() []string { return []string{"none", "characters", "light", "standard", "strong"} }

// ParseAugment returns a preset:
//
//	none (or "")  no change
//	characters    for letters and digits: rotation 10 degrees, shear 5, shift
//	              8 %, scale 0.9 to 1.1; no mirror images
//	light         shift by up to 1/24 of the sides (10 pixels of 256) and mirror
//	standard      random resized crop of 25 % to 100 % of the area, and mirror
//	strong        standard, and colour jitter 0.4, 0.4, 0.4, 0.05, and erasing 0.25
func ParseAugment(name string) (Augment, error) {
	switch name {
	case "", "none":
		return Augment{}, nil
	case "characters":
		return Augment{Rotate: 10, Shear: 5, Move: 0.08, Scale: [2]float64{0.9, 1.1}}, nil
	case "light":
		return Augment{Pad: 1. / 24, Flip: 0.5}, nil
	case "standard":
		return Augment{CropArea: [2]float64{0.25, 1}, Flip: 0.5}, nil
	case "strong":
		return Augment{CropArea: [2]float64{0.25, 1}, Flip: 0.5, Brightness: 0.4, Contrast: 0.4, Saturation: 0.4,
			Hue: 0.05, Erase: 0.25}, nil
	}
	return Augment{}, fmt.Errorf("unknown augmentation %q: must be one of %s", name,
		strings.Join(Augmentations(), ", "))
}

// UnmarshalText sets a to what ParseAugment returns.
func (a *Augment) UnmarshalText(text []byte) error {
	preset, err := ParseAugment(string(text))
	if err == nil {
		*a = preset
	}
	return err
}

// MarshalText returns the name of a as a preset. It is an error if a is not a preset.
func (a Augment) MarshalText() ([]byte, error) {
	for _, name := range Augmentations() {
		if preset, err := ParseAugment(name); err == nil && preset == a {
			return []byte(name), nil
		}
	}
	return nil, fmt.Errorf("the augmentation %+v is not a preset: must be one of %s", a,
		strings.Join(Augmentations(), ", "))
}

// check refuses values outside their ranges.
func (a *Augment) check() error {
	for _, v := range []struct {
		name    string
		value   float64
		highest float64
	}{
		{"pad", a.Pad, 1}, {"flip", a.Flip, 1}, {"rotate", a.Rotate, 180}, {"shear", a.Shear, 80}, {"move", a.Move, 1},
		{"brightness", a.Brightness, 10}, {"contrast", a.Contrast, 10}, {"saturation", a.Saturation, 10},
		{"hue", a.Hue, 0.5}, {"erase", a.Erase, 1},
	} {
		if !(v.value >= 0 && v.value <= v.highest) {
			return fmt.Errorf("augmentation %s is %g: must be 0 to %g", v.name, v.value, v.highest)
		}
	}
	for _, r := range []struct {
		name    string
		value   [2]float64
		highest float64
	}{{"crop area", a.CropArea, 1}, {"crop ratio", a.CropRatio, 100}, {"scale", a.Scale, 100}} {
		lo, hi := r.value[0], r.value[1]
		if hi == 0 && lo == 0 {
			continue
		}
		if !(lo > 0 && lo <= hi && hi <= r.highest) {
			return fmt.Errorf("augmentation %s is %g to %g: must be a range above 0, up to %g", r.name, lo, hi,
				r.highest)
		}
	}
	return nil
}

// cropBox draws the part of a w x h image that a random resized crop keeps.
func (a *Augment) cropBox(w, h int, rng *rand.Rand) Box {
	ratio := a.cropRatio()
	fw, fh := float64(w), float64(h)
	for range 10 {
		area := uniform(rng, a.CropArea[0], a.CropArea[1]) * fw * fh
		r := math.Exp(uniform(rng, math.Log(ratio[0]), math.Log(ratio[1])))
		cw, ch := math.Round(math.Sqrt(area*r)), math.Round(math.Sqrt(area/r))
		if cw >= 1 && ch >= 1 && cw <= fw && ch <= fh {
			x, y := float64(rng.IntN(w-int(cw)+1)), float64(rng.IntN(h-int(ch)+1))
			return Box{x, y, x + cw, y + ch}
		}
	}
	cw, ch := a.largestCrop(fw, fh)
	x, y := (fw-cw)/2, (fh-ch)/2
	return Box{x, y, x + cw, y + ch}
}

// cropRatio returns CropRatio or its default.
func (a *Augment) cropRatio() [2]float64 {
	if a.CropRatio[1] == 0 {
		return [2]float64{3. / 4, 4. / 3}
	}
	return a.CropRatio
}

// largestCrop returns the size of the largest box with an allowed ratio. That box is cut from the
// centre if no random box fits.
func (a *Augment) largestCrop(w, h float64) (cw, ch float64) {
	ratio := a.cropRatio()
	cw, ch = w, h
	if r := w / h; r < ratio[0] {
		ch = w / ratio[0]
	} else if r > ratio[1] {
		cw = h * ratio[1]
	}
	return cw, ch
}

// smallestCrop returns the least width and the least height that cropBox draws.
func (a *Augment) smallestCrop(w, h float64) (cw, ch float64) {
	ratio := a.cropRatio()
	area := a.CropArea[0] * w * h
	cw, ch = a.largestCrop(w, h)
	return min(cw, math.Sqrt(area*ratio[0])), min(ch, math.Sqrt(area/ratio[1]))
}

func uniform(rng *rand.Rand, lo, hi float64) float64 { return lo + rng.Float64()*(hi-lo) }

// hasAffine reports whether an affine map is drawn.
func (a *Augment) hasAffine() bool {
	return a.Rotate > 0 || a.Shear > 0 || a.Move > 0 || a.Scale[1] > 0
}

// hasJitter reports whether the colours are changed.
func (a *Augment) hasJitter() bool {
	return a.Brightness > 0 || a.Contrast > 0 || a.Saturation > 0 || a.Hue > 0
}

// affine draws the map from output to input pixel centres of a w x h image:
// x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5].
func (a *Augment) affine(w, h int, rng *rand.Rand) [6]float64 {
	angle := uniform(rng, -a.Rotate, a.Rotate) * math.Pi / 180
	shear := math.Tan(uniform(rng, -a.Shear, a.Shear) * math.Pi / 180)
	dx := uniform(rng, -a.Move, a.Move) * float64(w)
	dy := uniform(rng, -a.Move, a.Move) * float64(h)
	scale := 1.0
	if a.Scale[1] > 0 {
		scale = uniform(rng, a.Scale[0], a.Scale[1])
	}
	// This is the inverse of shear, scale, rotation about the centre, and shift, in this order.
	sin, cos := math.Sincos(angle)
	i00, i01 := cos/scale, sin/scale
	i10, i11 := -sin/scale, cos/scale
	i00, i01 = i00-shear*i10, i01-shear*i11
	cx, cy := float64(w-1)/2, float64(h-1)/2
	return [6]float64{
		i00, i01, cx - i00*(cx+dx) - i01*(cy+dy),
		i10, i11, cy - i10*(cx+dx) - i11*(cy+dy),
	}
}

// warp resamples src, w x h pixels of c channels, bilinearly by the map m, with
// fill outside the image.
func warp(dst, src []float32, w, h, c int, m [6]float64, fill float32) {
	at := func(x, y, k int) float32 {
		if uint(x) >= uint(w) || uint(y) >= uint(h) {
			return fill
		}
		return src[(y*w+x)*c+k]
	}
	for y := range h {
		out := dst[y*w*c : (y+1)*w*c]
		for x := range w {
			fx := m[0]*float64(x) + m[1]*float64(y) + m[2]
			fy := m[3]*float64(x) + m[4]*float64(y) + m[5]
			// The conversion to int of values far outside would be undefined.
			fx, fy = min(max(fx, -2), float64(w+1)), min(max(fy, -2), float64(h+1))
			x0, y0 := int(math.Floor(fx)), int(math.Floor(fy))
			ax, ay := float32(fx-float64(x0)), float32(fy-float64(y0))
			for k := range c {
				top := at(x0, y0, k)*(1-ax) + at(x0+1, y0, k)*ax
				bottom := at(x0, y0+1, k)*(1-ax) + at(x0+1, y0+1, k)*ax
				out[x*c+k] = top*(1-ay) + bottom*ay
			}
		}
	}
}

// shift moves the w x h pixels of v by (dx, dy) in place and fills the uncovered pixels.
func shift[T uint8 | float32](v []T, w, h, c, dx, dy int, fill [3]T) {
	dx, dy = min(max(dx, -w), w), min(max(dy, -h), h)
	if by := (dy*w + dx) * c; by >= 0 {
		copy(v[min(by, len(v)):], v)
	} else {
		copy(v, v[min(-by, len(v)):])
	}
	x0, x1 := max(0, dx), min(w, w+dx)
	for y := range h {
		row := v[y*w*c : (y+1)*w*c]
		if y < dy || y >= h+dy {
			fillPixels(row, c, fill)
			continue
		}
		fillPixels(row[:x0*c], c, fill)
		fillPixels(row[x1*c:], c, fill)
	}
}

func fillPixels[T uint8 | float32](v []T, c int, fill [3]T) {
	for i := 0; i+c <= len(v); i += c {
		copy(v[i:i+c], fill[:c])
	}
}

// mirror reverses the order of a row's pixels.
func mirror[T uint8 | float32](row []T, c int) {
	if c == 1 {
		slices.Reverse(row)
		return
	}
	for i, j := 0, len(row)-3; i < j; i, j = i+3, j-3 {
		p, q := (*[3]T)(row[i:i+3]), (*[3]T)(row[j:j+3])
		*p, *q = *q, *p
	}
}

// jitter changes the colours of h rows of pixels with c channels and values from 0 to 255. It
// applies one linear map of RGB, hue * saturation * contrast * brightness, clamps, and normalises:
// dst = scale*v + add. The hue is turned in the YIQ plane, and contrast refers to the mean luma.
// sums is a buffer for a row.
func (a *Augment) jitter(dst, v []float32, h, c int, scale, add [3]float32, sums []float32, rng *rand.Rand) {
	factor := func(f float64) float64 { return max(0, uniform(rng, 1-f, 1+f)) }
	bright, contrast, sat := factor(a.Brightness), factor(a.Contrast), factor(a.Saturation)
	hue := uniform(rng, -a.Hue, a.Hue) * 2 * math.Pi
	gain := bright * contrast
	offset := float32(0)
	if a.Contrast > 0 {
		offset = float32((1 - contrast) * bright * meanLuma(v, h, c, sums))
	}
	if c == 1 {
		g := float32(gain)
		for i, x := range v {
			dst[i] = scale[0]*min(max(g*x+offset, 0), 255) + add[0]
		}
		return
	}
	m := hueMatrix(hue)
	luma := [3]float64{0.299, 0.587, 0.114}
	// The rows of m sum to 1, so m does not change the mix with grey and the offset.
	var f [9]float32
	for i := range 3 {
		for j := range 3 {
			f[3*i+j] = float32(gain * (sat*m[3*i+j] + (1-sat)*luma[j]))
		}
	}
	pix.Colors(dst, v, f, offset, scale, add)
}

// hueMatrix turns chroma by angle in the YIQ plane and keeps luma.
func hueMatrix(angle float64) [9]float64 {
	sin, cos := math.Sincos(angle)
	const lr, lg, lb = 0.299, 0.587, 0.114
	return [9]float64{
		lr + cos*(1-lr) - sin*0.168, lg - cos*lg - sin*0.330, lb - cos*lb + sin*0.498,
		lr - cos*lr + sin*0.328, lg + cos*(1-lg) + sin*0.035, lb - cos*lb - sin*0.363,
		lr - cos*lr - sin*1.250, lg - cos*lg + sin*1.050, lb + cos*(1-lb) + sin*0.200,
	}
}

// meanLuma returns the mean ITU-R 601 luma of h rows of pixels with c channels.
func meanLuma(v []float32, h, c int, sums []float32) float64 {
	line := len(v) / h
	sums = sums[:line]
	simd.ColumnSums(sums, v, h, line)
	var sum [3]float64
	for i, s := range sums {
		sum[i%c] += float64(s)
	}
	n := float64(len(v) / c)
	if c == 1 {
		return sum[0] / n
	}
	return (0.299*sum[0] + 0.587*sum[1] + 0.114*sum[2]) / n
}

// eraseBox draws the rectangle to blank. ok is false if no rectangle fitted.
func eraseBox(w, h int, rng *rand.Rand) (x, y, ew, eh int, ok bool) {
	for range 10 {
		area := uniform(rng, 0.02, 1./3) * float64(w*h)
		r := math.Exp(uniform(rng, math.Log(0.3), math.Log(3.3)))
		ew, eh = int(math.Round(math.Sqrt(area*r))), int(math.Round(math.Sqrt(area/r)))
		if ew >= 1 && eh >= 1 && ew < w && eh < h {
			return rng.IntN(w - ew + 1), rng.IntN(h - eh + 1), ew, eh, true
		}
	}
	return 0, 0, 0, 0, false
}
