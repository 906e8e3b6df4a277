package dot16

import (
	"fmt"
	"testing"
)

func BenchmarkStrip(b *testing.B) {
	for _, d := range []int{128, 512} {
		b.Run(fmt.Sprintf("d%d", d), func(b *testing.B) {
			const n = 448
			x, y := make([]int16, PackedLen(RowPanel, d, RowPanel)), make([]int16, PackedLen(n, d, ColPanel))
			c := make([]int32, RowPanel*n)
			for b.Loop() {
				Strip(c, x, y, Pairs(d))
			}
			b.ReportMetric(2*RowPanel*n*float64(d)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	const n = 448
	c, v, mask := make([]int32, n), make([]float32, n), make([]uint32, n/16)
	cols := Columns{Scale: make([]float32, n), Half: make([]float32, n), Lo: make([]float32, n)}
	for b.Loop() {
		Filter(v, mask, c, Row{Lo: 1}, &cols)
	}
}
