package jpeg

// The inverse cosine transform of Loeffler, Ligtenberg and Moschytz (1989): 12
// multiplications per line of eight, in fixed point with fixBits fractional
// bits. The pass over columns keeps 2 extra bits. These are the precisions of libjpeg (jidctint.c), so that the
// bytes are the same.
const fixBits = 13

const (
	f0541 = 4433  // 0.541196100
	f1847 = 15137 // 1.847759065
	f0765 = 6270  // 0.765366865
	f1175 = 9633  // 1.175875602
	f0298 = 2446  // 0.298631336
	f2053 = 16819 // 2.053119869
	f3072 = 25172 // 3.072711026
	f1501 = 12299 // 1.501321110
	f0899 = 7373  // 0.899976223
	f2562 = 20995 // 2.562915447
	f1961 = 16069 // 1.961570560
	f0390 = 3196  // 0.390180644
)

// corner[k] is the side of the square in the upper left that holds the first
// k+1 coefficients in zigzag order.
var corner = func() (c [64]uint8) {
	side := uint8(0)
	for k, z := range zigzag {
		side = max(side, z&7, z>>3)
		c[k] = side + 1
	}
	return c
}()

// transform adds 128 to the inverse transform of d.block, writes it to the size x
// size pixels at dst, and clears the block. last is the zigzag index of its last
// coefficient that is not zero.
func (d *Decoder) transform(dst []uint8, stride, last, size int) {
	b := &d.block
	if size < 8 {
		idctReduced(b, dst, stride, size)
		clear(b[:])
		return
	}
	if last == 0 {
		v := clip((b[0]+4)>>3 + 128)
		b[0] = 0
		for y := range 8 {
			row := dst[y*stride : y*stride+8 : y*stride+8]
			row[0], row[1], row[2], row[3] = v, v, v, v
			row[4], row[5], row[6], row[7] = v, v, v, v
		}
		return
	}
	n := int(corner[last])
	columns(b, n)
	rows(b, dst, stride, n)
	clear(b[:])
}

// columns transforms the first n columns, whose coefficients below row n are 0.
func columns(b *[64]int32, n int) {
	const shift = fixBits - 2
	for i := range n & 15 {
		c := (*[57]int32)(b[i : i+57])
		var e0, e1, e2, e3, o0, o1, o2, o3 int32
		if n <= 4 {
			s0, s1, s2, s3 := c[0]<<fixBits+1<<(shift-1), c[8], c[16], c[24]
			if s1|s2|s3 == 0 {
				v := s0 >> shift
				c[0], c[8], c[16], c[24], c[32], c[40], c[48], c[56] = v, v, v, v, v, v, v, v
				continue
			}
			t2, t3 := s2*f0541, s2*(f0541+f0765)
			e0, e1, e2, e3 = s0+t3, s0+t2, s0-t2, s0-t3
			z := (s1 + s3) * f1175
			p1, p2 := z-s1*f0899, z-s3*f2562
			o3 = s1*(f1501-f0390) + p1
			o2 = s3*(f3072-f1961) + p2
			o1 = p2 - s1*f0390
			o0 = p1 - s3*f1961
		} else {
			s0, s4 := c[0]<<fixBits+1<<(shift-1), c[32]<<fixBits
			s2, s6 := c[16], c[48]
			z := (s2 + s6) * f0541
			t2, t3 := z-s6*f1847, z+s2*f0765
			e0, e1, e2, e3 = s0+s4+t3, s0-s4+t2, s0-s4-t2, s0+s4-t3
			s1, s3, s5, s7 := c[8], c[24], c[40], c[56]
			z5 := (s7 + s3 + s5 + s1) * f1175
			p1, p2 := z5-(s7+s1)*f0899, z5-(s5+s3)*f2562
			p3, p4 := (s7+s3)*f1961, (s5+s1)*f0390
			o3 = s1*f1501 + p1 - p4
			o2 = s3*f3072 + p2 - p3
			o1 = s5*f2053 + p2 - p4
			o0 = s7*f0298 + p1 - p3
		}
		c[0], c[56] = (e0+o3)>>shift, (e0-o3)>>shift
		c[8], c[48] = (e1+o2)>>shift, (e1-o2)>>shift
		c[16], c[40] = (e2+o1)>>shift, (e2-o1)>>shift
		c[24], c[32] = (e3+o0)>>shift, (e3-o0)>>shift
	}
}

// rows transforms all rows, whose values beyond column n are 0, into pixels.
func rows(b *[64]int32, dst []uint8, stride, n int) {
	const shift = fixBits + 2 + 3
	const bias = 1<<(shift-1) + 128<<shift
	for y := range 8 {
		c := (*[8]int32)(b[8*y : 8*y+8])
		var e0, e1, e2, e3, o0, o1, o2, o3 int32
		if n <= 4 {
			s0, s1, s2, s3 := c[0]<<fixBits+bias, c[1], c[2], c[3]
			t2, t3 := s2*f0541, s2*(f0541+f0765)
			e0, e1, e2, e3 = s0+t3, s0+t2, s0-t2, s0-t3
			z := (s1 + s3) * f1175
			p1, p2 := z-s1*f0899, z-s3*f2562
			o3 = s1*(f1501-f0390) + p1
			o2 = s3*(f3072-f1961) + p2
			o1 = p2 - s1*f0390
			o0 = p1 - s3*f1961
		} else {
			s0, s4 := c[0]<<fixBits+bias, c[4]<<fixBits
			s2, s6 := c[2], c[6]
			z := (s2 + s6) * f0541
			t2, t3 := z-s6*f1847, z+s2*f0765
			e0, e1, e2, e3 = s0+s4+t3, s0-s4+t2, s0-s4-t2, s0+s4-t3
			s1, s3, s5, s7 := c[1], c[3], c[5], c[7]
			z5 := (s7 + s3 + s5 + s1) * f1175
			p1, p2 := z5-(s7+s1)*f0899, z5-(s5+s3)*f2562
			p3, p4 := (s7+s3)*f1961, (s5+s1)*f0390
			o3 = s1*f1501 + p1 - p4
			o2 = s3*f3072 + p2 - p3
			o1 = s5*f2053 + p2 - p4
			o0 = s7*f0298 + p1 - p3
		}
		row := (*[8]uint8)(dst[y*stride : y*stride+8])
		row[0], row[7] = clip((e0+o3)>>shift), clip((e0-o3)>>shift)
		row[1], row[6] = clip((e1+o2)>>shift), clip((e1-o2)>>shift)
		row[2], row[5] = clip((e2+o1)>>shift), clip((e2-o1)>>shift)
		row[3], row[4] = clip((e3+o0)>>shift), clip((e3-o0)>>shift)
	}
}

func clip(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^(v >> 31)) // 0 below, 255 above
	}
	return uint8(v)
}
