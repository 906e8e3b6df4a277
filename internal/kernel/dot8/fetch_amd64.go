//go:build !noasm

package dot8

func fetch(b []uint8) {
	if n := len(b) / 64; n > 0 {
		fetchLines(&b[0], n)
	}
}
