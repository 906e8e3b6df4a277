// Command gen writes the assembly of internal/simd. Run it by `make gen`.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!noasm")
	for _, v := range []isa{avx2, avx512} {
		tile(v, 1)
		tile(v, 2)
		peak(v)
	}
	transpose()
	Generate()
}
