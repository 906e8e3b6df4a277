package dot8

import (
	"fmt"
	"testing"
)

func BenchmarkStrip(b *testing.B) {
	for name, f := range strips() {
		if name == "go" {
			continue
		}
		for _, d := range []int{128, 512, 2048} {
			b.Run(fmt.Sprintf("%s/d%d", name, d), func(b *testing.B) {
				const n = 448
				x, y := make([]int8, PackedLen(RowPanel, d, RowPanel)), make([]uint8, PackedLen(n, d, ColPanel))
				c, bias := make([]int32, RowPanel*n), make([]int32, RowPanel)
				for b.Loop() {
					f(c, x, bias, y, Depth(d)/step, n/ColPanel)
				}
				b.ReportMetric(2*RowPanel*n*float64(d)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
			})
		}
	}
}

func BenchmarkQuantize(b *testing.B) {
	const d = 512
	x, m := make([]float32, d), make([]float32, d)
	for i := range x {
		x[i] = float32(i%37) - 18
	}
	w, q := make([]float32, d), make([]int8, d)
	panels := make([]uint8, PackedLen(1, d, ColPanel))
	for b.Loop() {
		Quantize(q, w, Place(w, x, m, 1), 0)
		PackColumn(panels, 0, q)
	}
}

func BenchmarkSquaredDistance(b *testing.B) {
	x, y := make([]float32, 512), make([]float32, 512)
	for b.Loop() {
		SquaredDistance(x, y)
	}
}

func BenchmarkSquaredDistances(b *testing.B) {
	x, y := make([]float32, 128), make([]float32, 448*128)
	at, dst := make([]int32, 12), make([]float32, 12)
	for k := range at {
		at[k] = int32(k * 151 % 448)
	}
	for b.Loop() {
		SquaredDistances(dst, x, y, 128, at)
	}
}
