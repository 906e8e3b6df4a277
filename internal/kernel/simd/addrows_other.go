//go:build !amd64 || noasm

package simd

func addRowsLanes() int { return 0 }

func addRows(vecs int, y, x *float32, stride int, idx *int32, c *float32, n int) {
	panic("simd: no vector unit")
}
