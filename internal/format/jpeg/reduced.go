package jpeg

// idctReduced is the inverse cosine transform of a picture with fewer pixels: the size x
// size lowest frequencies of a block of 8 x 8, transformed as a block of that size, are
// the picture without what the smaller one cannot show, at the same brightness. size is
// 1, 2 or 4.
func idctReduced(b *[64]int32, dst []uint8, stride, size int) {
	switch size {
	case 1:
		dst[0] = clip((b[0]+4)>>3 + 128)
	case 2:
		// One line of two: s0 + s1, s0 - s1.
		const bias = 4 + 128<<3
		p, q := b[0]+b[8]+bias, b[0]-b[8]+bias
		r, s := b[1]+b[9], b[1]-b[9]
		dst[0], dst[1] = clip((p+r)>>3), clip((p-r)>>3)
		dst[stride], dst[stride+1] = clip((q+s)>>3), clip((q-s)>>3)
	default:
		idct4(b, dst, stride)
	}
}

const f1306 = f0541 + f0765 // 1.306562965: sqrt(2) cos(pi/8)

// idct4 transforms the 4 x 4 lowest frequencies: lines of s0 + s2, s0 - s2 and the odd
// parts 1.306 s1 + 0.541 s3, 0.541 s1 - 1.306 s3.
func idct4(b *[64]int32, dst []uint8, stride int) {
	const first = fixBits - 2
	for i := range 4 {
		c := (*[25]int32)(b[i : i+25])
		s0, s1, s2, s3 := c[0]<<fixBits+1<<(first-1), c[8], c[16]<<fixBits, c[24]
		e0, e1 := s0+s2, s0-s2
		o0, o1 := s1*f1306+s3*f0541, s1*f0541-s3*f1306
		c[0], c[8], c[16], c[24] = (e0+o0)>>first, (e1+o1)>>first, (e1-o1)>>first, (e0-o0)>>first
	}
	const second = fixBits + 2 + 3
	const bias = 1<<(second-1) + 128<<second
	for y := range 4 {
		c := (*[4]int32)(b[8*y : 8*y+4])
		s0, s1, s2, s3 := c[0]<<fixBits+bias, c[1], c[2]<<fixBits, c[3]
		e0, e1 := s0+s2, s0-s2
		o0, o1 := s1*f1306+s3*f0541, s1*f0541-s3*f1306
		row := (*[4]uint8)(dst[y*stride : y*stride+4])
		row[0], row[1] = clip((e0+o0)>>second), clip((e1+o1)>>second)
		row[2], row[3] = clip((e1-o1)>>second), clip((e0-o0)>>second)
	}
}
