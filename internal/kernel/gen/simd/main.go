// Command simd writes the assembly of internal/kernel/simd, and the functions that
// choose between its levels. Run it by `make gen`.
package main

import (
	"log"
	"maps"

	. "github.com/mmcloughlin/avo/build"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
)

func main() {
	ConstraintExpr("!noasm")
	for _, v := range []isa{avx2, avx512} {
		emitTile(v, 1, false)
		emitTile(v, 2, false)
		peak(v)
		for _, k := range rowKernels() {
			k.emit(v)
		}
		for _, k := range poolKernels() {
			k.emit(v)
		}
		depthwise(v, false)
		depthwise(v, true)
		for _, s := range depthShapes {
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
	if err := armKernels().Write("../simd"); err != nil {
		log.Fatal(err)
	}
}

// armKernels writes the kernels for arm64.
func armKernels() *neon.File {
	f := neon.New("simd")
	emitArmTile(f, 2)
	emitArmTile(f, 4)
	armPeak(f)
	bodies := armLinear()
	maps.Copy(bodies, armActs())
	for _, k := range rowKernels() {
		k.emitArm(f, bodies[k.name])
	}
	pools := armPools()
	for _, k := range poolKernels() {
		k.emitArm(f, pools[k.name])
	}
	armDepthwise(f)
	armMaxTap(f)
	armLayerNorm(f)
	armLayerNormGrad(f)
	armExpSum(f)
	armFolds(f)
	armTranspose(f)
	armWinograd(f)
	return f
}
