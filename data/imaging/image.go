package imaging

import (
	"fmt"
	"image"
	"image/color"
	"slices"
)

// Image holds 8-bit pixels in rows from the top, with interleaved channels: the value of channel c
// at (x, y) is Pix[(y*W+x)*C+c]. C is 1 (grey) or 3 (sRGB). *Image is an image.Image, so package
// image/png, for example, can write it.
type Image struct {
	W, H, C int
	Pix     []uint8
}

// NewImage returns a black image.
func NewImage(w, h, c int) *Image {
	im := new(Image)
	im.Reset(w, h, c)
	return im
}

// FromImage copies any picture. Grey pictures get one channel, all others three. Transparency is
// composited over white.
func FromImage(src image.Image) *Image {
	im := new(Image)
	fromImage(im, src)
	return im
}

// ColorModel returns the colour model of im, which is an image.Image.
func (im *Image) ColorModel() color.Model {
	if im.C == 1 {
		return color.GrayModel
	}
	return color.RGBAModel
}

// Bounds returns the rectangle from (0, 0) to (W, H).
func (im *Image) Bounds() image.Rectangle { return image.Rect(0, 0, im.W, im.H) }

// At returns the colour of a pixel. It is black outside the image.
func (im *Image) At(x, y int) color.Color {
	if !image.Pt(x, y).In(im.Bounds()) {
		return im.ColorModel().Convert(color.Black)
	}
	p := im.Pix[(y*im.W+x)*im.C:]
	if im.C == 1 {
		return color.Gray{Y: p[0]}
	}
	return color.RGBA{R: p[0], G: p[1], B: p[2], A: 255}
}

// Reset gives im a new shape. It reuses the memory if that is large enough. The pixels are
// undefined.
func (im *Image) Reset(w, h, c int) {
	if w < 0 || h < 0 || (c != 1 && c != 3) {
		panic(fmt.Sprintf("imaging: image of %d x %d with %d channels", w, h, c))
	}
	im.W, im.H, im.C = w, h, c
	n := w * h * c
	if cap(im.Pix) < n {
		im.Pix = nil // so that it may be freed
		im.Pix = make([]uint8, n)
	}
	im.Pix = im.Pix[:n]
}

// Row returns the values of row y, sharing im's memory.
func (im *Image) Row(y int) []uint8 {
	n := im.W * im.C
	return im.Pix[y*n : (y+1)*n : (y+1)*n]
}

// CopyFrom makes im a copy of src.
func (im *Image) CopyFrom(src *Image) {
	im.Reset(src.W, src.H, src.C)
	copy(im.Pix, src.Pix)
}

// Crop cuts im down to r in place. It panics if r is empty or leaves the image.
func (im *Image) Crop(r image.Rectangle) {
	if r.Empty() || !r.In(image.Rect(0, 0, im.W, im.H)) {
		panic(fmt.Sprintf("imaging: crop %v of a %d x %d image", r, im.W, im.H))
	}
	n := r.Dx() * im.C
	for y := range r.Dy() {
		copy(im.Pix[y*n:(y+1)*n], im.Row(r.Min.Y + y)[r.Min.X*im.C:])
	}
	im.W, im.H = r.Dx(), r.Dy()
	im.Pix = im.Pix[:n*im.H]
}

// SetChannels converts im to c channels in place. Grey is repeated. Colour is reduced to ITU-R 601
// luma (0.299 R + 0.587 G + 0.114 B, rounded), as in PIL.
func (im *Image) SetChannels(c int) {
	switch {
	case c == im.C:
	case c == 1:
		n := im.W * im.H
		for i := range n {
			p := im.Pix[3*i : 3*i+3 : 3*i+3]
			im.Pix[i] = luma(p[0], p[1], p[2])
		}
		im.Pix, im.C = im.Pix[:n], 1
	default:
		n := im.W * im.H
		if cap(im.Pix) < 3*n {
			im.Pix = append(make([]uint8, 0, 3*n), im.Pix...)
		}
		im.Pix, im.C = im.Pix[:3*n], 3
		for i := n - 1; i >= 0; i-- {
			v := im.Pix[i]
			im.Pix[3*i], im.Pix[3*i+1], im.Pix[3*i+2] = v, v, v
		}
	}
}

// luma returns the ITU-R 601 luma in 16-bit fixed point. The weights add up to 65536.
func luma(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// orient turns im upright by its EXIF orientation. It does so in the memory of im, so that a turned picture needs no
// more memory than an upright one; see transpose.
func (im *Image) orient(o int) {
	if o <= 1 || o > 8 {
		return
	}
	if o >= 5 {
		im.transpose()
	}
	if o == 2 || o == 3 || o == 6 || o == 7 { // left and right are exchanged
		for y := range im.H {
			im.mirror(im.Row(y))
		}
	}
	if o == 3 || o == 4 || o == 7 || o == 8 { // top and bottom are exchanged
		row := make([]uint8, im.W*im.C)
		for y := range im.H / 2 {
			upper, lower := im.Row(y), im.Row(im.H-1-y)
			copy(row, upper)
			copy(upper, lower)
			copy(lower, row)
		}
	}
}

// mirror reverses the pixels of a row.
func (im *Image) mirror(row []uint8) {
	slices.Reverse(row)
	if im.C == 3 { // and so the channels
		for i := 0; i < len(row); i += 3 {
			row[i], row[i+2] = row[i+2], row[i]
		}
	}
}

// transpose exchanges the rows and the columns of im. It takes at most an eighth of the memory of im for a while.
//
// The columns are cut into panels, and the pieces of rows in a panel are put one behind another. Then each panel is
// transposed for itself. Columns that do not fill a panel are put aside meanwhile.
func (im *Image) transpose() {
	const widest, least = 64, 32 // columns of a panel, panels of a picture
	w, h, c := im.W, im.H, im.C
	wide := min(max(w/least, 1), widest)
	panels := w / wide
	whole := panels * wide
	rest := make([]uint8, h*(w-whole)*c)
	for y := range h {
		row := im.Row(y)
		copy(rest[y*(w-whole)*c:], row[whole*c:])
		copy(im.Pix[y*whole*c:], row[:whole*c])
	}
	gather(im.Pix[:h*whole*c], panels, h, wide*c)
	if wide > 1 {
		panel := make([]uint8, h*wide*c)
		for at := 0; at < h*whole*c; at += len(panel) {
			copy(panel, im.Pix[at:])
			transposed(im.Pix[at:], panel, wide, h, c)
		}
	}
	transposed(im.Pix[h*whole*c:], rest, w-whole, h, c)
	im.W, im.H = h, w
}

// gather transposes h rows of w pieces of n bytes in their memory. A piece takes the place of another one, which
// takes the place of a third, until a circle is closed.
func gather(b []byte, w, h, n int) {
	moved := make([]uint64, (w*h+63)/64)
	piece := func(i int) []byte { return b[i*n : (i+1)*n] }
	first := make([]byte, n)
	for start := range w * h {
		if moved[start/64]>>(start%64)&1 != 0 {
			continue
		}
		copy(first, piece(start))
		for at := start; ; {
			moved[at/64] |= 1 << (at % 64)
			from := at%h*w + at/h
			if from == start {
				copy(piece(at), first)
				break
			}
			copy(piece(at), piece(from))
			at = from
		}
	}
}

// transposed writes h rows of w pixels of c channels to dst as w rows of h pixels.
func transposed(dst, src []uint8, w, h, c int) {
	for y := range h {
		row := src[y*w*c : (y+1)*w*c]
		if c == 1 {
			for x, v := range row {
				dst[x*h+y] = v
			}
			continue
		}
		for x := range w {
			copy(dst[(x*h+y)*3:][:3], row[3*x:3*x+3])
		}
	}
}
