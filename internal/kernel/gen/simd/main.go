// Command simd writes the assembly of internal/kernel/simd, and the functions that
// choose between its levels. Run it by `make gen`.
package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/arm"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

func main() {
	ConstraintExpr("!noasm")
	rows, pools := rowBodies(), poolBodies()
	for _, v := range []isa{avx2, avx512} {
		emitTile(v, 1, false)
		emitTile(v, 2, false)
		peak(v)
		for _, k := range layout.Rows {
			rowKernel{k, rows[k.Name]}.emit(v)
		}
		for _, k := range layout.Pools {
			poolKernel{k, pools[k.Name]}.emit(v)
		}
		depthwise(v, false)
		depthwise(v, true)
		for _, s := range layout.DepthShapes {
			depthwiseRow(v, s[0], s[1])
		}
		depthwiseWeightsRow(v, 3, 3)
		depthwiseWeightsRow(v, 5, 1)
		depthwiseWeightsRow(v, 7, 1)
		maxTap(v)
		layerNorm(v)
		layerNormGrad(v)
		expSum(v)
		folds(v)
		addRows(v, 8)
		addRows(v, 1)
	}
	emitShortTiles(avx512)
	emitTile(avx512, 1, true)
	emitTile(avx512, 2, true)
	depthwiseBand(avx512, 1)
	depthwiseBand(avx512, 2)
	transpose()
	winoFilter(avx512)
	winoInput(avx512)
	winoOutput(avx512)
	winoGradient(avx512)
	wino4Filter(avx512)
	wino4Input(avx512)
	wino4Output(avx512)
	Generate()
	if err := dispatch("../simd"); err != nil {
		log.Fatal(err)
	}
	if err := arm.Kernels().Write("../simd"); err != nil {
		log.Fatal(err)
	}
}
