package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Instructions that neither avo nor Go's assembler knows, byte by byte. Their
// operands are physical registers, which the functions that use them take care of
// themselves.

func code(bytes ...byte) {
	for _, b := range bytes {
		Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
	}
}

// evex is a 512-bit instruction of map 0F38 on vector registers.
func evex(prefix, op byte, dst, src1, src2 int) {
	bit := func(v, from, to int) byte { return byte(^v>>from&1) << to }
	code(0x62,
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

// tileMove is TILELOADD or TILESTORED: rows of a tile at base, step apart.
func tileMove(prefix byte, tile int, base, step reg.GPPhysical, disp int) {
	b, s := int(base.PhysicalIndex()), int(step.PhysicalIndex())
	code(0xc4, 0x82|byte(^s>>3&1)<<6|byte(^b>>3&1)<<5, 0x78|prefix, 0x4b,
		0x84|byte(tile)<<3, byte(s&7)<<3|byte(b&7),
		byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
}

func tileLoad(tile int, base, step reg.GPPhysical, disp int)  { tileMove(3, tile, base, step, disp) }
func tileStore(tile int, base, step reg.GPPhysical, disp int) { tileMove(2, tile, base, step, disp) }

// tileZero is TILEZERO.
func tileZero(tile int) { code(0xc4, 0xe2, 0x7b, 0x49, 0xc0|byte(tile)<<3) }

// tileDot is TDPBF16PS: adds to acc the products of rows of a and columns of b.
func tileDot(acc, a, b int) {
	code(0xc4, 0xe2, byte(^b&15)<<3|2, 0x5c, 0xc0|byte(acc)<<3|byte(a))
}

// tileConfig is LDTILECFG from the address in r.
func tileConfig(r reg.GPPhysical) {
	i := int(r.PhysicalIndex())
	code(0xc4, 0xc2|byte(^i>>3&1)<<5, 0x78, 0x49, byte(i&7))
}

// tileRelease is TILERELEASE.
func tileRelease() { code(0xc4, 0xe2, 0x78, 0x49, 0xc0) }
