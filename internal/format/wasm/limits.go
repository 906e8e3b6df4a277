package wasm

import "github.com/kindred-ml/kindred/internal/base/budget"

// LoopLimit returns the loops that are enough for a picture, 0.1 to 1 second of a processor for the
// smallest. Measured were at most 2 million for the smallest, and 0.37 of this for photos, text, noise and
// single colours, with and without loss, of 8 to 16 bits, as encoders write them at several efforts. Bytes
// beyond half of MaxBytes add no work.
func LoopLimit(pixels, bytes int64) int64 {
	return budget.Sum(1<<24, budget.Product(200, pixels), budget.Product(50, min(bytes, MaxBytes(pixels)/2)))
}

// MaxBytes returns more than the bytes of a coded picture of so many pixels that any encoder writes.
func MaxBytes(pixels int64) int64 { return budget.Sum(64<<10, budget.Product(16, pixels)) }

// maxCopies is how many times a decoder has the coded picture in its memory at most.
const maxCopies = 6

// Memory returns the memory of a run for a picture: that of a pixel, copies of the coded picture, and what a decoder
// has for itself.
func Memory(perPixel, pixels, bytes int64) int64 {
	return budget.Sum(16<<20, budget.Product(maxCopies, bytes), budget.Product(perPixel, pixels))
}

// HeaderLimits bound the reading of a picture's size from so many bytes. Measured were 2.4 MB.
func HeaderLimits(bytes int64) Limits {
	return Limits{Memory: budget.Sum(4<<20, budget.Product(maxCopies, bytes)), Loops: LoopLimit(0, bytes)}
}

// TotalLen returns the bytes of pieces together.
func TotalLen(pieces ...[]byte) int64 {
	n := int64(0)
	for _, piece := range pieces {
		n += int64(len(piece))
	}
	return n
}
