package imaging

import "slices"

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
