package jpeg

// scanPart is what one scan of a progressive file holds: the coefficients from to to of some components,
// without their lowest low bits; or, if high is not 0, the bit above these of coefficients that came
// before.
type scanPart struct {
	comps    [3]*component
	n        int
	from, to int
	high     uint
	low      uint
}

// progressiveHeader reads the header of a scan of a progressive file.
func (d *Decoder) progressiveHeader(seg []byte) bool {
	if d.n == 0 || len(seg) < 6 || len(seg) != 4+2*int(seg[0]) || int(seg[0]) > d.n {
		return false
	}
	p := &d.part
	p.n = int(seg[0])
	tail := seg[1+2*p.n:]
	p.from, p.to, p.high, p.low = int(tail[0]), int(tail[1]), uint(tail[2]>>4), uint(tail[2]&15)
	if p.low > 13 || p.high != 0 && p.high != p.low+1 || p.to > 63 {
		return false
	}
	if p.from == 0 && p.to != 0 || p.from > 0 && (p.to < p.from || p.n != 1) {
		return false
	}
	at := 0 // components come in the order of the frame
	for i := range p.n {
		s := seg[1+2*i:]
		for at < d.n && d.comps[at].id != s[0] {
			at++
		}
		dc, ac := s[1]>>4, s[1]&15
		if at == d.n || dc > 3 || ac > 3 {
			return false
		}
		c := &d.comps[at]
		at++
		p.comps[i] = c
		if !d.hasQ[c.quant] {
			return false
		}
		c.dc, c.ac = &d.huff[0][dc], &d.huff[1][ac]
		if p.from == 0 && p.high == 0 && !c.dc.ok || p.from > 0 && !c.ac.ok {
			return false
		}
	}
	return true
}

// lastCoefficient is the last coefficient in zigzag order of those that a block of size x size
// pixels is made of.
func lastCoefficient(size int) int {
	switch size {
	case 1:
		return 0
	case 2:
		return 4
	case 4:
		return 24
	}
	return 63
}

// scans reads all scans of a progressive file, whose first scan has its data at at,
// and makes the planes of them.
func (d *Decoder) scans(b []byte, at int) error {
	for i := range d.n {
		c := &d.comps[i]
		size := d.cols * c.h * d.rows * c.v * 64
		if cap(c.coeffs) < size {
			c.coeffs = make([]int16, size)
		}
		c.coeffs = c.coeffs[:size]
		clear(c.coeffs)
	}
	for {
		d.passes.Scans++
		d.passes.Samples += d.part.samples(d.cols * d.rows)
		if d.passes.Check() != nil {
			return ErrUnsupported
		}
		used, ok := 0, false
		if p := &d.part; p.from > 0 && p.comps[0].size == 1 {
			// No use for it. Of larger sizes all is needed: what a later scan has of
			// the coefficients depends on those that are not zero by then.
			used, ok = scanLength(b[at:])
		} else {
			used, ok = d.decodeScan(b[at:])
		}
		if !ok {
			return ErrUnsupported
		}
		next, end, err := d.headers(b, at+used)
		if err != nil {
			return err
		}
		if end {
			return d.finish()
		}
		at = next
	}
}

// samples is the number of samples of a scan in a picture of the given number of units.
func (p *scanPart) samples(units int) int64 {
	var n int64
	for _, c := range p.comps[:p.n] {
		n += int64(units) * int64(c.h*c.v) * 64
	}
	return n
}

// scanLength returns the length of a scan's data: up to the first marker that is not
// a restart marker.
func scanLength(data []byte) (used int, ok bool) {
	for i := 0; i+1 < len(data); i++ {
		if data[i] == 0xff && data[i+1] != 0 && (data[i+1] < rst0 || data[i+1] > rst7) {
			return i, true
		}
	}
	return 0, false
}

// decodeScan decodes one scan and returns the length of its data.
func (d *Decoder) decodeScan(data []byte) (used int, ok bool) {
	d.in = bitReader{data: data}
	p := &d.part
	cols, rows := d.cols, d.rows
	if p.n == 1 {
		// Blocks of a single component are not interleaved: those that only fill up a
		// unit are missing.
		c := p.comps[0]
		side := func(n, own, all int) int { return ((n*own+all-1)/all + 7) / 8 }
		cols, rows = side(d.w, c.h, d.hmax), side(d.h, c.v, d.vmax)
	}
	d.beginInterval()
	left, next, run := d.restart, byte(rst0), 0
	for my := range rows {
		if d.isStopped() {
			return 0, false
		}
		for mx := range cols {
			if d.restart > 0 && left == 0 {
				if !d.in.restart(next) {
					return 0, false
				}
				d.beginInterval()
				next, left, run = rst0|(next+1)&7, d.restart, 0
			}
			left--
			if p.n == 1 {
				c := p.comps[0]
				if run, ok = d.decodeBlock(c, my*d.cols*c.h+mx, run); !ok {
					return 0, false
				}
				continue
			}
			for _, c := range p.comps[:p.n] {
				for v := range c.v {
					for h := range c.h {
						if _, ok := d.decodeBlock(c, (my*c.v+v)*d.cols*c.h+mx*c.h+h, 0); !ok {
							return 0, false
						}
					}
				}
			}
		}
	}
	return d.in.finish()
}

// beginInterval begins a scan, or what follows a restart.
func (d *Decoder) beginInterval() {
	for i := range d.n {
		d.comps[i].lastDC = 0
	}
}

// decodeBlock decodes what the scan has of block i of c. run is how many blocks from this
// one on have nothing new, and becomes that of the next.
func (d *Decoder) decodeBlock(c *component, i, run int) (int, bool) {
	b := (*[64]int16)(c.coeffs[64*i : 64*i+64])
	p, in := &d.part, &d.in
	switch {
	case p.from > 0 && p.high > 0:
		return d.decodeRefinement(c, b, run)
	case p.from > 0:
		return d.decodeFirst(c, b, run)
	case p.high > 0:
		if in.bit() {
			b[0] |= 1 << p.low
		}
		return 0, !in.overrun()
	}
	in.fill()
	size, ok := in.symbol(c.dc)
	if !ok || size > 11 {
		return 0, false
	}
	c.lastDC += in.signed(uint(size))
	b[0] = int16(c.lastDC << p.low)
	return 0, true
}

// decodeFirst reads the first bits of a band of coefficients.
func (d *Decoder) decodeFirst(c *component, b *[64]int16, run int) (int, bool) {
	if run > 0 {
		return run - 1, true
	}
	p, in := &d.part, &d.in
	for k := p.from; k <= p.to; k++ {
		in.fill()
		s, ok := in.symbol(c.ac)
		if !ok {
			return 0, false
		}
		zeros, size := int(s>>4), uint(s&15)
		if size == 0 {
			if zeros < 15 {
				return in.run(uint(zeros)) - 1, true
			}
			k += 15
			continue
		}
		if k += zeros; k > p.to {
			return 0, false
		}
		b[k] = int16(in.signed(size) << p.low)
	}
	return 0, !in.overrun()
}

// decodeRefinement reads one more bit of the coefficients of a band that are not zero, and
// those that appear with this bit.
func (d *Decoder) decodeRefinement(c *component, b *[64]int16, run int) (int, bool) {
	p, in := &d.part, &d.in
	k := p.from
	for run == 0 && k <= p.to {
		in.fill()
		s, ok := in.symbol(c.ac)
		if !ok {
			return 0, false
		}
		zeros, v := int(s>>4), int16(0)
		switch s & 15 {
		case 0:
			if zeros < 15 {
				run = in.run(uint(zeros))
				continue
			}
		case 1:
			if v = -1 << p.low; in.bit() {
				v = 1 << p.low
			}
		default:
			return 0, false
		}
		k = d.refineNonZeros(b, k, zeros)
		if v != 0 {
			if k > p.to {
				return 0, false
			}
			b[k] = v
		}
		k++
	}
	if run > 0 {
		d.refineNonZeros(b, k, 64)
		run--
	}
	return run, !in.overrun()
}

// refineNonZeros adds the next bit to the coefficients from k on that are not zero, until it
// has passed the given number of zeros, and returns where the zero after these is.
func (d *Decoder) refineNonZeros(b *[64]int16, k, zeros int) int {
	p := &d.part
	one := int16(1) << p.low
	for ; k <= p.to; k++ {
		v := b[k]
		if v == 0 {
			if zeros == 0 {
				break
			}
			zeros--
			continue
		}
		if d.in.bit() && v&one == 0 {
			if v < 0 {
				b[k] = v - one
			} else {
				b[k] = v + one
			}
		}
	}
	return k
}

// finish transforms all coefficients into the planes.
func (d *Decoder) finish() error {
	for i := range d.n {
		c := &d.comps[i]
		q := &d.quant[c.quant]
		wide, top := d.cols*c.h, lastCoefficient(c.size)
		for y := range d.rows * c.v {
			if d.isStopped() {
				return ErrUnsupported
			}
			for x := range wide {
				b := (*[64]int16)(c.coeffs[64*(y*wide+x):][:64])
				last := 0
				for k, v := range b[:top+1] {
					if v != 0 {
						d.block[zigzag[k]] = int32(v) * q[k]
						last = k
					}
				}
				d.transform(c.plane[(y*c.stride+x)*c.size:], c.stride, last, c.size)
			}
		}
	}
	return nil
}
