// Package raw writes instructions byte by byte, for those that neither avo nor Go's
// assembler knows. Operands are physical registers, which the functions that use them
// keep alive themselves.
package raw

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// Code adds bytes to the function under construction.
func Code(bytes ...byte) {
	for _, b := range bytes {
		build.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
	}
}
