package imaging

// DefaultMaxPixels is the largest image that a Decoder accepts by default: more
// than any camera makes, and 540 MB when decoded to three channels.
const DefaultMaxPixels = 180_000_000

// Decoder reads image files. It keeps buffers between calls and serves one
// goroutine. The zero value is ready.
type Decoder struct {
	// MaxPixels bounds width times height as announced by the header, before
	// anything is decoded; 0 means DefaultMaxPixels.
	MaxPixels int
}
