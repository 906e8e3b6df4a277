package jpeg

// DecodeAny is Decode for kinds of JPEG that few programs write, at its leisure: arithmetic
// coding, chroma of uneven sizes, four colours. Pictures of four colours are taken for CMYK, or
// for YCCK where Adobe's segment says so, inverted as Adobe's programs write them, and become
// RGB without a colour profile; see Decoder.Inks. Shrink does not apply.
func (d *Decoder) DecodeAny(b []byte, grow func(w, h, c int) []uint8) error {
	d.any = true
	defer func() { d.any = false }()
	return d.decode(b, grow)
}

// anyFrame checks the sampling factors of n components: each must divide the largest.
func (d *Decoder) anyFrame(n int) bool {
	d.hmax, d.vmax = 1, 1
	blocks := 0
	for i := range n {
		c := &d.comps[i]
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 {
			return false
		}
		d.hmax, d.vmax = max(d.hmax, c.h), max(d.vmax, c.v)
		blocks += c.h * c.v
	}
	for i := range n {
		if d.hmax%d.comps[i].h != 0 || d.vmax%d.comps[i].v != 0 {
			return false
		}
	}
	d.n = n
	return blocks <= 10
}

// isYCbCr decides, as libjpeg does, whether the first three components are YCbCr: JFIF says
// yes, Adobe's segment says which, all but 0 being so, and else the names of the components do.
func isYCbCr(names []byte, adobe int, jfif bool) bool {
	switch {
	case len(names) == 4:
		return adobe > 0
	case jfif:
		return true
	case adobe >= 0:
		return adobe != 0
	}
	return string(names) != "RGB"
}

// convert makes interleaved pixels of the planes. It is false if Done is closed before the last
// row.
func (d *Decoder) convert(pix []uint8) bool {
	var rows [4][]uint8
	var planes [4]enlarged
	var names [4]byte
	wide := d.cols * d.hmax * 8
	if need := 4 * wide; len(d.wide) < need || len(d.sums) < need {
		d.wide, d.sums = make([]uint8, need), make([]int32, need)
	}
	for i := range d.n {
		names[i] = d.comps[i].id
		planes[i] = d.enlarge(&d.comps[i])
		rows[i] = d.wide[i*wide:][:wide]
	}
	yuv := isYCbCr(names[:d.n], d.adobe, d.jfif)
	for y := range d.h {
		if d.stopped() {
			return false
		}
		for i := range d.n {
			planes[i].row(rows[i], y)
		}
		if d.n == 4 && d.Inks {
			out := pix[4*y*d.w:][:4*d.w]
			for i := range out {
				out[i] = rows[i%4][i/4]
			}
			continue
		}
		out := pix[3*y*d.w:][:3*d.w]
		for x := range d.w {
			o := out[3*x : 3*x+3 : 3*x+3]
			if o[0], o[1], o[2] = rows[0][x], rows[1][x], rows[2][x]; yuv {
				r, g, b := terms(o[1], o[2])
				put(o, int32(rows[0][x]), r, g, b)
			}
			if d.n == 4 {
				inked(o, rows[3][x], yuv)
			}
		}
	}
	return true
}

// inked puts black, which is stored inverted as the other inks are, over a colour. YCCK
// is made of what the inks are without that.
func inked(o []uint8, black uint8, ycck bool) {
	for i, v := range o {
		if ycck {
			v = 255 - v
		}
		ink, white := uint32(255-v), uint32(black)
		o[i] = uint8(white - (ink*white+127)/255)
	}
}

// enlarged is the plane of a component, from which rows as wide as the picture are made.
type enlarged struct {
	planes     // the chroma of it is the plane
	cols, rows int
	smooth     bool
	sums       []int32
}

func (d *Decoder) enlarge(c *component) enlarged {
	across, down := d.hmax/c.h, d.vmax/c.v
	e := enlarged{planes: planes{w: d.w, h: d.h, across: across, down: down, cb: c.plane, cStride: c.stride},
		cols: (d.w*c.h + d.hmax - 1) / d.hmax, rows: (d.h*c.v + d.vmax - 1) / d.vmax}
	e.smooth = d.Smooth && across <= 2 && down <= 2 && across*down > 1 && interpolates(d.w, across)
	e.sums = d.sums[:e.cols]
	return e
}

// row makes row y.
func (e *enlarged) row(out []uint8, y int) {
	near := y / e.down
	plane := e.cb[near*e.cStride:][:e.cols]
	if !e.smooth {
		for x := range e.w {
			out[x] = plane[x/e.across]
		}
		return
	}
	far := near
	if e.down == 2 {
		far = min(max(near-1+2*(y&1), 0), e.rows-1)
	}
	e.planes.row(out, plane, e.cb[far*e.cStride:][:e.cols], e.sums, int32(1+y&1))
}
