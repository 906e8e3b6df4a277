package colourspace

import (
	"math"
	"sync"
)

// Converter converts pixels of a space to sRGB. It is for one goroutine.
type Converter struct {
	space *Space
	// eight are the linear values of 8 bits. sixteen, made when it is needed, are those of every 16th value of 16 bits,
	// and one more.
	eight, sixteen [3][]float32
	matrix         [3][3]float32
	encoded        []uint16
}

// linearSteps are the steps of encodings. One is a fifth of a step of 8 bits where sRGB is steepest.
const linearSteps = 1 << 14

// encodings returns the values of 16 bits in sRGB for linear values.
var encodings = sync.OnceValue(func() []uint16 {
	t := make([]uint16, linearSteps+2)
	for i := range t {
		t[i] = uint16(math.Round(math.MaxUint16 * min(encode(float64(i)/linearSteps), 1)))
	}
	return t
})

// NewConverter returns the Converter of a space; nil if no value of 8 bits would change by more than two steps, as with
// the many profiles of sRGB.
func NewConverter(s *Space) *Converter {
	c := &Converter{space: s, encoded: encodings()}
	for i, row := range s.ToSRGB {
		for j, v := range row {
			c.matrix[i][j] = float32(v)
		}
	}
	c.eight = s.linear(256, 255)
	if c.maxChange() <= 2 {
		return nil
	}
	return c
}

// linear returns the linear values of n values in steps of 1/most.
func (s *Space) linear(n int, most float64) (tables [3][]float32) {
	for k, curve := range s.Curves {
		t := make([]float32, n)
		for v := range t {
			if l := curve(min(float64(v)/most, 1)); l > 0 { // what is not a number counts as black
				t[v] = float32(min(l, 1))
			}
		}
		tables[k] = t
	}
	return tables
}

// maxChange returns the largest change of a value of 8 bits, over greys and a grid of colours.
func (c *Converter) maxChange() (most int) {
	try := func(p ...uint8) {
		q := append([]uint8(nil), p...)
		c.Convert8(q, len(p))
		for i := range p {
			most = max(most, int(p[i])-int(q[i]), int(q[i])-int(p[i]))
		}
	}
	for v := range 256 {
		if c.space.Grey {
			try(uint8(v))
		} else {
			try(uint8(v), uint8(v), uint8(v))
		}
	}
	if c.space.Grey {
		return most
	}
	const steps = 6
	for k := range steps * steps * steps {
		at := func(n int) uint8 { return uint8(n % steps * 255 / (steps - 1)) }
		try(at(k), at(k/steps), at(k/steps/steps))
	}
	return most
}

// encode16 returns the value of 16 bits in sRGB of a linear value.
func (c *Converter) encode16(l float32) uint32 {
	x := min(max(l, 0), 1) * linearSteps
	k := int(x)
	a, b := float32(c.encoded[k]), float32(c.encoded[k+1])
	return uint32(a + (b-a)*(x-float32(k)) + 0.5)
}

// linear16 returns the linear value of 16 bits.
func (c *Converter) linear16(channel int, v uint32) float32 {
	t := c.sixteen[channel]
	k, part := v>>4, float32(v&15)/16
	return t[k] + (t[k+1]-t[k])*part
}

// mix converts linear values of the space.
func (c *Converter) mix(r, g, b float32) (uint32, uint32, uint32) {
	m := &c.matrix
	return c.encode16(m[0][0]*r + m[0][1]*g + m[0][2]*b), c.encode16(m[1][0]*r + m[1][1]*g + m[1][2]*b),
		c.encode16(m[2][0]*r + m[2][1]*g + m[2][2]*b)
}

// to8 rounds 16 bits to 8.
func to8(v uint32) uint8 { return uint8((v*255 + 32895) >> 16) }

// Accepts reports whether the space is one for pictures of this number of colours, 1 or 3.
func (c *Converter) Accepts(colours int) bool { return !c.space.Grey || colours == 1 }

// Convert8 converts pixels of 8 bits in place. A pixel has step values: one is grey, and of four the last is an alpha
// that colours are not multiplied by. A grey pixel in a space of colours has three equal values, and stays grey.
func (c *Converter) Convert8(pix []uint8, step int) {
	if step == 1 {
		table := c.greys()
		for i, v := range pix {
			pix[i] = table[v]
		}
		return
	}
	r, g, b := c.eight[0], c.eight[1], c.eight[2]
	var last, made [3]uint8
	first := true
	for i := 0; i+step <= len(pix); i += step {
		p := pix[i : i+3 : i+3]
		is := [3]uint8{p[0], p[1], p[2]}
		if first || is != last {
			x, y, z := c.mix(r[p[0]], g[p[1]], b[p[2]])
			last, made, first = is, [3]uint8{to8(x), to8(y), to8(z)}, false
		}
		p[0], p[1], p[2] = made[0], made[1], made[2]
	}
}

// greys returns the values in sRGB of greys of 8 bits.
func (c *Converter) greys() (table [256]uint8) {
	for v := range table {
		table[v] = to8(c.grey(c.eight[0][v], c.eight[1][v], c.eight[2][v]))
	}
	return table
}

// grey returns the value of a grey, whose three values are equal before the curves.
func (c *Converter) grey(r, g, b float32) uint32 {
	if c.space.Grey {
		return c.encode16(r)
	}
	_, y, _ := c.mix(r, g, b)
	return y
}

// Convert16 converts pixels of 16 bits, the higher byte first, as Convert8 does.
func (c *Converter) Convert16(pix []uint8, step int) {
	if c.sixteen[0] == nil {
		c.sixteen = c.space.linear(1<<12+1, math.MaxUint16/16.)
	}
	get := func(b []uint8) uint32 { return uint32(b[0])<<8 | uint32(b[1]) }
	put := func(b []uint8, v uint32) { b[0], b[1] = uint8(v>>8), uint8(v) }
	for i := 0; i+2*step <= len(pix); i += 2 * step {
		p := pix[i : i+2*step]
		if step == 1 {
			v := get(p)
			put(p, c.grey(c.linear16(0, v), c.linear16(1, v), c.linear16(2, v)))
			continue
		}
		x, y, z := c.mix(c.linear16(0, get(p)), c.linear16(1, get(p[2:])), c.linear16(2, get(p[4:])))
		put(p, x)
		put(p[2:], y)
		put(p[4:], z)
	}
}
