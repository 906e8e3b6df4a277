// Command qgemm writes the assembly of internal/kernel/qgemm. Run it by `make gen`.
package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("!noasm")
	emitTile()
	emitSums()
	emitSumsVNNI()
	emitStore()
	depthwise()
	for _, k := range []narrow{{32, false}, {32, true}, {8, false}, {8, true}} {
		k.emit()
	}
	quantize()
	dequantize()
	columnSums()
	rowsAVX2()
	largest("largestAVX512", "computes the largest bytes of windows.", 64)
	largest("largestAVX2", windowDoc, 32)
	Generate()
	if err := armKernels().Write("../qgemm"); err != nil {
		log.Fatal(err)
	}
}
