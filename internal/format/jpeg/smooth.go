package jpeg

import (
	"image"

	"github.com/kindred-ml/kindred/internal/kernel/pix"
)

// planes is a picture as JPEG has it: one chroma value for across x down pixels,
// each 1 or 2.
type planes struct {
	w, h, across, down int
	y, cb, cr          []uint8
	yStride, cStride   int
}

// ToRGB converts a picture of image/jpeg to interleaved pixels, 3 w h of them, as a
// Decoder with Smooth does. It is false, and nothing is done, for pictures whose
// chroma has more than 1 x 1, 2 x 1, 1 x 2 or 2 x 2 pixels a value, or rows of one or
// two values.
func (d *Decoder) ToRGB(rgb []uint8, im *image.YCbCr) bool {
	p := planes{w: im.Rect.Dx(), h: im.Rect.Dy(), across: 1, down: 1, y: im.Y, cb: im.Cb, cr: im.Cr,
		yStride: im.YStride, cStride: im.CStride}
	switch im.SubsampleRatio {
	case image.YCbCrSubsampleRatio444:
	case image.YCbCrSubsampleRatio422:
		p.across = 2
	case image.YCbCrSubsampleRatio420:
		p.across, p.down = 2, 2
	case image.YCbCrSubsampleRatio440:
		p.down = 2
	default:
		return false
	}
	if im.Rect.Min != (image.Point{}) || len(rgb) < 3*p.w*p.h || !usesInterpolation(p.w, p.across) {
		return false
	}
	return p.smooth(rgb, d, nil)
}

// smooth converts with chroma weighted by distance, in libjpeg's integers: of two
// values across or down the nearer counts 3/4 and the farther 1/4, of four 9/16,
// 3/16, 3/16 and 1/16; beyond the border its own value stands in. What is rounded
// alternates with the column. It is false if done is closed before the last row.
func (p *planes) smooth(rgb []uint8, d *Decoder, done <-chan struct{}) bool {
	cols, rows := (p.w+p.across-1)/p.across, (p.h+p.down-1)/p.down
	if need := 2*p.w + 2*p.across; len(d.wide) < need {
		d.wide = make([]uint8, need)
	}
	wide := [2][]uint8{d.wide[:p.w+p.across], d.wide[p.w+p.across:]}
	for y := range p.h {
		if isClosed(done) {
			return false
		}
		near := y / p.down
		far := near
		if p.down == 2 {
			far = min(max(near-1+2*(y&1), 0), rows-1)
		}
		for i, plane := range [2][]uint8{p.cb, p.cr} {
			p.row(wide[i], plane[near*p.cStride:][:cols], plane[far*p.cStride:][:cols], 1+y&1)
		}
		pix.RGB(rgb[3*y*p.w:][:3*p.w], p.y[y*p.yStride:][:p.w], wide[0], wide[1])
	}
	return true
}

// row makes one row of chroma as wide as the picture from the rows next to it; half
// is what is added before a division by 4 that is down only.
func (p *planes) row(out, near, far []uint8, half int) {
	switch {
	case p.across == 2 && p.down == 2:
		pix.Widen(out[:2*len(near)], near, far)
	case p.down == 2:
		for i, v := range near {
			out[i] = uint8((3*int(v) + int(far[i]) + half) >> 2)
		}
	case p.across == 1:
		copy(out, near)
	default:
		left := int(near[0])
		for i, v := range near {
			s, right := int(v), int(near[min(i+1, len(near)-1)])
			o := out[2*i : 2*i+2 : 2*i+2]
			o[0], o[1] = uint8((3*s+left+1)>>2), uint8((3*s+right+2)>>2)
			left = s
		}
	}
}
