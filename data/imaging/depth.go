package imaging

import (
	"encoding/binary"
	"fmt"
	"image"
	"math/bits"
)

// depth16 are the values of a picture of 16 bits without the alpha: pixels of step bytes that begin with size of them.
type depth16 struct {
	pix        []uint8
	step, size int
}

func newDepth16(im image.Image) depth16 {
	switch im := im.(type) {
	case *image.Gray16:
		return depth16{im.Pix, 2, 2}
	case *image.RGBA64:
		return depth16{im.Pix, 8, 6}
	}
	return depth16{}
}

// eachSample calls use with two bytes at a time.
func (d depth16) eachSample(use func(v []uint8)) {
	for i := 0; i < len(d.pix); i += d.step {
		for k := i; k < i+d.size; k += 2 {
			use(d.pix[k : k+2])
		}
	}
}

// scaleDepth scales values that a program has written as they were measured, such as 0 to 4095 of 12 bits, to 16 bits,
// if the file says that so many bits are significant (the chunk sBIT of PNG). Those of a file that follows the standard
// are scaled already, and then have no bits below the significant ones unless they are large. Without such a statement
// the values are left as they are, as the picture may be a dark one. It returns the bits that the values use if they
// are few, and 0 otherwise.
func scaleDepth(im image.Image, significant int) (used int) {
	const few = 14
	var all, most uint16
	d := newDepth16(im)
	d.eachSample(func(v []uint8) {
		n := binary.BigEndian.Uint16(v)
		all, most = all|n, max(most, n)
	})
	used = bits.Len16(most)
	unscaled := significant > 0 && used <= significant && all&(1<<(16-significant)-1) != 0
	switch {
	case used == 0, used > few && !unscaled:
		return 0
	case !unscaled:
		return used
	}
	largest := uint32(1)<<significant - 1
	d.eachSample(func(v []uint8) {
		binary.BigEndian.PutUint16(v, uint16((uint32(binary.BigEndian.Uint16(v))*0xffff+largest/2)/largest))
	})
	return 0
}

// remarkOnDepth says that a picture uses few of its bits.
func remarkOnDepth(used int) string {
	return fmt.Sprintf("nearly black, as its values use %d of 16 bits: if that is its depth, scale it, "+
		"as by magick a.png -evaluate multiply %d b.png", used, 1<<(16-used))
}
