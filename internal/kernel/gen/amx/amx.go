// Package amx writes the instructions of the matrix unit, which neither avo nor Go's
// assembler knows, byte by byte. Operands are physical registers and numbers of tiles;
// the functions that use them keep the registers alive themselves.
package amx

import (
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/raw"
)

// vex is the prefix of map 0F38: prefix is 0 (none), 1 (66), 2 (F3) or 3 (F2), source
// the register in the field of its own.
func vex(index, base, source int, prefix byte) {
	high := func(r int) byte { return byte(^r>>3) & 1 }
	raw.Code(0xc4, 0x82|high(index)<<6|high(base)<<5, byte(^source&15)<<3|prefix)
}

// Configure is LDTILECFG of the 64 bytes that r points to. r must not be one of the
// registers 4, 5, 12 and 13 (R12, R13), whose codes mean other things here.
func Configure(r reg.GPPhysical) {
	i := int(r.PhysicalIndex())
	if i&6 == 4 {
		panic("amx: a register that cannot point to a configuration")
	}
	vex(0, i, 0, 0)
	raw.Code(0x49, byte(i&7))
}

// Release is TILERELEASE.
func Release() {
	vex(0, 0, 0, 0)
	raw.Code(0x49, 0xc0)
}

// Load is TILELOADD: the rows of a tile from base+disp on, step bytes apart.
func Load(tile int, base, step reg.GPPhysical, disp int) { move(3, tile, base, step, disp) }

// Store is TILESTORED, the way back.
func Store(tile int, base, step reg.GPPhysical, disp int) { move(2, tile, base, step, disp) }

func move(prefix byte, tile int, base, step reg.GPPhysical, disp int) {
	b, s := int(base.PhysicalIndex()), int(step.PhysicalIndex())
	vex(s, b, 0, prefix)
	raw.Code(0x4b, 0x84|byte(tile)<<3, byte(s&7)<<3|byte(b&7))
	raw.Code(byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
}

// Zero is TILEZERO.
func Zero(tile int) {
	vex(0, 0, 0, 3)
	raw.Code(0x49, 0xc0|byte(tile)<<3)
}

// DotSignedUnsigned is TDPBSUD: adds to the 32-bit sums of acc the products of the
// signed bytes of a's rows with the unsigned ones of b's columns.
func DotSignedUnsigned(acc, a, b int) {
	vex(0, 0, b, 2)
	raw.Code(0x5e, 0xc0|byte(acc)<<3|byte(a))
}

// DotBFloat16 is TDPBF16PS: adds to the float32 sums of acc the products of pairs of
// bfloat16 in a's rows and b's columns.
func DotBFloat16(acc, a, b int) {
	vex(0, 0, b, 2)
	raw.Code(0x5c, 0xc0|byte(acc)<<3|byte(a))
}
