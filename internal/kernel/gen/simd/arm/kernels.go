// Package arm emits the kernels of package simd for arm64.
package arm

import (
	"maps"

	"github.com/kindred-ml/kindred/internal/kernel/gen/neon"
	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
)

// Kernels returns the kernels of package simd for arm64.
func Kernels() *neon.File {
	f := neon.New("simd")
	emitTile(f, 2)
	emitTile(f, 4)
	peak(f)
	bodies := linearBodies()
	maps.Copy(bodies, acts())
	for _, k := range layout.Rows {
		rowKernel{k, bodies[k.Name]}.emit(f)
	}
	pools := poolBodies()
	for _, k := range layout.Pools {
		poolKernel{k, pools[k.Name]}.emit(f)
	}
	depthwise(f)
	maxTap(f)
	layerNorm(f)
	layerNormGrad(f)
	expSum(f)
	folds(f)
	transpose(f)
	winograd(f)
	return f
}
