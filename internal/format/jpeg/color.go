package jpeg

import "github.com/kindred-ml/kindred/internal/kernel/pix"

// chromaTerms are what a chroma value adds to the colours, rounded, as in pix.RGB.
// Green's two parts keep 16 fractional bits until they are added.
type chromaTerms struct {
	red, blue [256]int16
	greenCb   [256]int32
	greenCr   [256]int32
}

var chroma = func() (t chromaTerms) {
	for i := range 256 {
		c := int32(i - 128)
		t.red[i] = int16((pix.CrRed*c + 1<<15) >> 16)
		t.blue[i] = int16((pix.CbBlue*c + 1<<15) >> 16)
		t.greenCb[i] = pix.CbGreen * c
		t.greenCr[i] = pix.CrGreen*c + 1<<15
	}
	return t
}()

// usesInterpolation reports whether libjpeg does, given the width of a picture and the pixels across of
// a value of chroma: it repeats rows of one or two values.
func usesInterpolation(w, across int) bool { return across == 1 || (w+across-1)/across > 2 }

// toRGB converts the planes to interleaved pixels, w x h of them. It is false if Done is closed
// before the last row.
func (d *Decoder) toRGB(rgb []uint8, w, h int) bool {
	luma, cb, cr := &d.comps[0], &d.comps[1], &d.comps[2]
	if d.Smooth && d.across*d.down > 1 && d.across <= 2 && d.down <= 2 && usesInterpolation(w, d.across) {
		p := planes{w: w, h: h, across: d.across, down: d.down, y: luma.plane, cb: cb.plane, cr: cr.plane,
			yStride: luma.stride, cStride: cb.stride}
		return p.smooth(rgb, d, d.Done)
	}
	for y := range h {
		if d.isStopped() {
			return false
		}
		cy := y / d.down
		out := rgb[y*w*3 : (y+1)*w*3]
		yRow := luma.plane[y*luma.stride:][:w]
		bRow := cb.plane[cy*cb.stride:][:cb.stride]
		rRow := cr.plane[cy*cr.stride:][:len(bRow)]
		switch d.across {
		case 1:
			pix.RGB(out, yRow, bRow, rRow)
		case 2:
			pairs := w / 2
			for x := range pairs {
				r, g, b := chromaOf(bRow[x], rRow[x])
				o := out[6*x : 6*x+6 : 6*x+6]
				v := yRow[2*x : 2*x+2 : 2*x+2]
				putPixel(o, int32(v[0]), r, g, b)
				putPixel(o[3:], int32(v[1]), r, g, b)
			}
			if w&1 == 1 {
				r, g, b := chromaOf(bRow[pairs], rRow[pairs])
				putPixel(out[6*pairs:], int32(yRow[w-1]), r, g, b)
			}
		default:
			for x, v := range yRow {
				r, g, b := chromaOf(bRow[x/d.across], rRow[x/d.across])
				putPixel(out[3*x:], int32(v), r, g, b)
			}
		}
	}
	return true
}

func chromaOf(cb, cr uint8) (r, g, b int32) {
	return int32(chroma.red[cr]), (chroma.greenCb[cb] + chroma.greenCr[cr]) >> 16, int32(chroma.blue[cb])
}

func putPixel(o []uint8, y, r, g, b int32) {
	_ = o[2]
	o[0], o[1], o[2] = clip(y+r), clip(y+g), clip(y+b)
}
