//go:build !amd64 || noasm

package simd

func addRowsLanes() int { return 0 }

func addRows(vecs int, y, x *float32, stride int, idx *int32, c *float32, n int) {
	panic("simd: no vector unit")
}

func (d *DepthwiseBand) run() bool { return false }

const noWinograd4 = "simd: no transforms of F(4x4, 3x3)"

func wino4Filter(n, tap, to int, src, dst, tmp *float32) { panic(noWinograd4) }

func wino4Input(n, c, row, pad, to int, src, dst, tmp *float32) { panic(noWinograd4) }

func wino4Output(n, c, from, row int, src, dst, tmp *float32) { panic(noWinograd4) }
