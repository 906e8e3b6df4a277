package wasm

import "github.com/kindred-ml/kindred/internal/base/budget"

// Work returns the loops that are enough for a picture: measured were up to 100 a pixel and 300 a byte, for files
// of every kind that their encoders write. Bytes beyond those that any encoder writes for such a picture do not count.
func Work(pixels, bytes int64) int64 {
	const header, perPixel = 64 << 10, 16
	bytes = min(bytes, budget.Sum(header, budget.Product(perPixel, pixels)))
	return budget.Sum(1<<27, budget.Product(500, pixels), budget.Product(2000, bytes))
}

// Memory returns the memory of a run for a picture: that of a pixel, copies of the coded picture, and what a decoder
// has for itself.
func Memory(perPixel, pixels, bytes int64) int64 {
	return budget.Sum(16<<20, budget.Product(6, bytes), budget.Product(perPixel, pixels))
}
