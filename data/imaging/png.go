package imaging

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
)

// pngSignature is the number of bytes before the first chunk of a PNG file, and pngAround of what is around the content
// of a chunk: its length, four letters, and a CRC.
const pngSignature, pngAround = 8, 12

// pngConfig reads the size of a PNG file. It refuses files of more chunks than encoders write, as image/png takes 4 KiB
// for each chunk that it skips.
func pngConfig(b []byte) (image.Config, error) {
	const usual, shortest = 1000, 256 // chunks, and bytes of a chunk on average if there are more
	n, most := 0, usual+len(b)/shortest
	for at := uint64(pngSignature); at+pngAround <= uint64(len(b)); n++ {
		at += pngAround + uint64(binary.BigEndian.Uint32(b[at:]))
	}
	if n > most {
		return image.Config{}, fmt.Errorf("%d chunks: more than the %d allowed for %d bytes", n, most, len(b))
	}
	return png.DecodeConfig(bytes.NewReader(b))
}
