// Command qgemm writes the assembly of internal/kernel/qgemm. Run it by `make gen`.
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("!noasm")
	emitTile()
	emitSums()
	depthwise()
	quantize()
	dequantize()
	larger()
	columnSums()
	Generate()
}
