package jpeg

// arithmetic decodes the binary decisions of arithmetic coding (ITU-T T.81, annexes D and F).
// For each kind of decision it keeps how probable the rarer answer is and which this is.
type arithmetic struct {
	data   []byte
	at     int
	code   uint32
	size   uint32 // of the interval
	bits   int    // that code holds beyond the interval's
	dc     [16][64]state
	ac     [16][256]state
	even   state // of decisions that are not estimated
	lower  [16]uint8
	upper  [16]uint8
	middle [16]uint8 // the last coefficient of the lower kind
}

// state is the index of an estimate, with the more probable answer in its upper bit.
type state uint8

// evenState is the estimate that always is one half.
const evenState = 113

// newCoder returns a coder as a file begins with it.
func (d *Decoder) newCoder() *arithmetic {
	if d.spare == nil {
		d.spare = new(arithmetic)
	}
	a := d.spare
	for i := range a.upper {
		a.lower[i], a.upper[i], a.middle[i] = 0, 1, 5
	}
	return a
}

// conditioning reads the segment DAC.
func (a *arithmetic) conditioning(seg []byte) bool {
	for ; len(seg) >= 2; seg = seg[2:] {
		id, v := seg[0]&15, seg[1]
		switch seg[0] >> 4 {
		case 0:
			if a.lower[id], a.upper[id] = v&15, v>>4; a.lower[id] > a.upper[id] {
				return false
			}
		case 1:
			a.middle[id] = v
		default:
			return false
		}
	}
	return len(seg) == 0
}

// begin begins a scan, or an interval of one.
func (a *arithmetic) begin(data []byte) {
	a.data, a.at = data, 0
	a.code, a.size, a.bits = 0, 0, -16
	clear(a.dc[:])
	clear(a.ac[:])
	a.even = evenState
}

// restart steps over the marker that must follow an interval.
func (a *arithmetic) restart(marker byte) bool {
	for i := a.at; i+1 < len(a.data); i++ {
		if a.data[i] == 0xff && a.data[i+1] != 0 && a.data[i+1] != 0xff {
			if a.data[i+1] != marker {
				return false
			}
			a.begin(a.data[i+2:])
			return true
		}
	}
	return false
}

// next is the next byte of data; zeros follow where a marker stands.
func (a *arithmetic) next() uint32 {
	if a.at >= len(a.data) {
		return 0
	}
	c := a.data[a.at]
	if c == 0xff {
		if a.at+1 >= len(a.data) || a.data[a.at+1] != 0 {
			return 0
		}
		a.at++
	}
	a.at++
	return uint32(c)
}

// decide decodes a decision.
func (a *arithmetic) decide(s *state) int {
	for a.size < 1<<15 {
		if a.bits--; a.bits < 0 {
			a.code = a.code<<8 | a.next()
			if a.bits += 8; a.bits < 0 {
				if a.bits++; a.bits == 0 {
					a.size = 1 << 15
				}
			}
		}
		a.size <<= 1
	}
	now, likely := *s&127, *s&128
	e := estimates[now]
	rare := uint32(e.rare)
	a.size -= rare
	split := a.size << uint(a.bits)
	lps := false
	switch {
	case a.code >= split:
		a.code -= split
		lps = a.size >= rare // else the answers are exchanged
		a.size = rare
	case a.size < 1<<15:
		lps = a.size < rare
	default:
		return int(likely >> 7)
	}
	answer := int(likely >> 7)
	if lps {
		answer ^= 1
		*s = likely ^ e.toRare
	} else {
		*s = likely ^ e.toLikely
	}
	return answer
}

// block decodes what a scan has of a block.
func (a *arithmetic) block(p *part, c *component, b *[64]int16) bool {
	switch {
	case p.from > 0 && p.high > 0:
		return a.refine(p, c, b)
	case p.from > 0:
		return a.band(c, b, p.from, p.to, p.low)
	case p.high > 0:
		if a.decide(&a.even) == 1 {
			b[0] |= 1 << p.low
		}
		return true
	}
	if !a.difference(c) {
		return false
	}
	b[0] = int16(c.lastDC << p.low)
	return p.to == 0 || a.band(c, b, 1, p.to, 0)
}

// difference decodes the difference of a DC value from the last.
func (a *arithmetic) difference(c *component) bool {
	id := c.coding[0] & 15
	st := &a.dc[id]
	if a.decide(&st[c.context]) == 0 {
		c.context = 0
		return true
	}
	sign := a.decide(&st[c.context+1])
	s, m := c.context+2+sign, 0
	if a.decide(&st[s]) == 1 {
		s, m = 20, 1
		for a.decide(&st[s]) == 1 {
			if m <<= 1; m == 1<<15 {
				return false
			}
			s++
		}
	}
	switch {
	case m < 1<<a.lower[id]>>1:
		c.context = 0
	case m > 1<<a.upper[id]>>1:
		c.context = 12 + 4*sign
	default:
		c.context = 4 + 4*sign
	}
	v := a.pattern(&st[s+14], m) + 1
	if sign == 1 {
		v = -v
	}
	c.lastDC += int32(v)
	return true
}

// pattern decodes the bits of a value below its highest one, m.
func (a *arithmetic) pattern(s *state, m int) int {
	v := m
	for m >>= 1; m > 0; m >>= 1 {
		if a.decide(s) == 1 {
			v |= m
		}
	}
	return v
}

// band decodes the coefficients from to to.
func (a *arithmetic) band(c *component, b *[64]int16, from, to int, low uint) bool {
	id := c.coding[1] & 15
	st := &a.ac[id]
	for k := from; k <= to; k++ {
		s := 3 * (k - 1)
		if a.decide(&st[s]) == 1 {
			return true // end of block
		}
		for a.decide(&st[s+1]) == 0 {
			s += 3
			if k++; k > to {
				return false
			}
		}
		sign := a.decide(&a.even)
		s += 2
		m := 0
		if a.decide(&st[s]) == 1 {
			m = 1
			if a.decide(&st[s]) == 1 {
				m = 2
				if s = 217; k <= int(a.middle[id]) {
					s = 189
				}
				for a.decide(&st[s]) == 1 {
					if m <<= 1; m == 1<<15 {
						return false
					}
					s++
				}
			}
		}
		v := a.pattern(&st[s+14], m) + 1
		if sign == 1 {
			v = -v
		}
		b[k] = int16(v << low)
	}
	return true
}

// refine decodes one more bit of the coefficients of a band.
func (a *arithmetic) refine(p *part, c *component, b *[64]int16) bool {
	st := &a.ac[c.coding[1]&15]
	one := int16(1) << p.low
	last := p.to // of those that are not zero so far
	for last > 0 && b[last] == 0 {
		last--
	}
	for k := p.from; k <= p.to; k++ {
		s := 3 * (k - 1)
		if k > last && a.decide(&st[s]) == 1 {
			return true
		}
		for b[k] == 0 && a.decide(&st[s+1]) == 0 {
			s += 3
			if k++; k > p.to {
				return false
			}
		}
		if b[k] == 0 {
			if b[k] = one; a.decide(&a.even) == 1 {
				b[k] = -one
			}
		} else if a.decide(&st[s+2]) == 1 {
			if b[k] < 0 {
				b[k] -= one
			} else {
				b[k] += one
			}
		}
	}
	return true
}
