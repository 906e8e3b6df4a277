package imaging

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
	"iter"
)

var pngFormat = format{name: "PNG", extensions: []string{".png"}, mediaType: "image/png",
	matches: hasPrefix("\x89PNG\r\n\x1a\n"), open: openPNG, exif: pngExif, colours: pngColours}

// pngSignature is the number of bytes before the first chunk of a PNG file, and pngOverhead of what is
// around the content of a chunk: its length, four letters, and a CRC, which the decoder checks.
const pngSignature, pngOverhead = 8, 12

// pngChunks yields the names and the content of the chunks until one is cut short.
func pngChunks(b []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for at := uint64(pngSignature); at+pngOverhead <= uint64(len(b)); {
			n := uint64(binary.BigEndian.Uint32(b[at:]))
			if at+pngOverhead+n > uint64(len(b)) || !yield(string(b[at+4:at+8]), b[at+8:at+8+n]) {
				return
			}
			at += pngOverhead + n
		}
	}
}

// pngConfig reads the size of a PNG file. It refuses files of more chunks than encoders write, as image/png takes 4 KiB
// for each chunk that it skips.
func pngConfig(b []byte) (image.Config, error) {
	const usual, shortest = 1000, 256 // chunks, and bytes of a chunk on average if there are more
	n, most := 0, usual+len(b)/shortest
	for range pngChunks(b) {
		n++
	}
	if n > most {
		return image.Config{}, fmt.Errorf("%d chunks: more than the %d allowed for %d bytes", n, most, len(b))
	}
	return png.DecodeConfig(bytes.NewReader(b))
}

func openPNG(ctx context.Context, b []byte, size int64) (*source, error) {
	s, err := goDecoder(pngConfig, png.Decode)(ctx, b, size)
	if err != nil {
		return nil, err
	}
	for name, c := range pngChunks(b) {
		if name == "IDAT" {
			break
		}
		if name == "sBIT" && len(c) > 0 && c[0] <= 16 { // those of other channels are the same in practice
			s.significant = int(c[0])
		}
	}
	return s, nil
}

// pngExif finds the chunk eXIf, which may be before or after the image data (PNG, third edition, section 11.3.5.5).
func pngExif(b []byte) []byte {
	for name, c := range pngChunks(b) {
		if name == "eXIf" {
			return trimEXIFPrefix(c)
		}
	}
	return nil
}

// pngColours reads the chunks of colours before the image data (PNG, third edition, section 11.3.2).
func pngColours(b []byte) (c colourSpace) {
	unit := func(v []byte) float64 { return float64(binary.BigEndian.Uint32(v)) / 100_000 }
	for name, body := range pngChunks(b) {
		switch {
		case name == "IDAT":
			return c
		case name == "cICP" && len(body) == 4:
			c.cicp.primaries, c.cicp.transfer = body[0], body[1]
		case name == "iCCP":
			c.icc = pngProfile(body)
		case name == "sRGB":
			c.srgb = true
		case name == "gAMA" && len(body) == 4:
			c.gamma = unit(body)
		case name == "cHRM" && len(body) == 4*len(c.chromaticities):
			for i := range c.chromaticities {
				c.chromaticities[i] = unit(body[4*i:])
			}
		}
	}
	return c
}

// pngProfile unpacks a profile: a name, a zero, the method of compression, and the data. It returns nil for one that is
// damaged or too large.
func pngProfile(body []byte) []byte {
	_, packed, ok := bytes.Cut(body, []byte{0})
	if !ok || len(packed) == 0 || packed[0] != 0 {
		return nil
	}
	r, err := zlib.NewReader(bytes.NewReader(packed[1:]))
	if err != nil {
		return nil
	}
	profile, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err != nil || len(profile) > maxProfile {
		return nil
	}
	return profile
}
