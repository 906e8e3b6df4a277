package main

import "github.com/kindred-ml/kindred/internal/kernel/gen/raw"

// Instructions that neither avo nor Go's assembler knows.

// evex is a 512-bit instruction of map 0F38 on vector registers.
func evex(prefix, op byte, dst, src1, src2 int) {
	bit := func(v, from, to int) byte { return byte(^v>>from&1) << to }
	raw.Code(0x62,
		bit(dst, 3, 7)|bit(src2, 4, 6)|bit(src2, 3, 5)|bit(dst, 4, 4)|2,
		byte(^src1&15)<<3|4|prefix,
		0x40|bit(src1, 4, 3),
		op, 0xc0|byte(dst&7)<<3|byte(src2&7))
}

// toHalf is VCVTNEPS2BF16 from vector register src to the lower half of dst.
func toHalf(src, dst int) { evex(2, 0x72, dst, 0, src) }

// dotPairs is VDPBF16PS: adds to each of acc's values the products of a's and b's
// pairs.
func dotPairs(acc, a, b int) { evex(2, 0x52, acc, a, b) }
