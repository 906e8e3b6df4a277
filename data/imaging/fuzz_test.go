package imaging

import (
	"encoding/binary"
	"testing"
)

// FuzzWebP decodes lossy files and finds all pixels opaque or as the alpha says.
func FuzzWebP(f *testing.F) {
	for _, name := range []string{"webp.webp", "webp-lossy-alpha.webp", "webp-edges.webp", "webp-pixel.webp",
		"webp-lossless.webp"} {
		f.Add(formatFile(f, name))
		chunks, w, h := readFrame(f, name)
		f.Add(animation(w+2, h, frame(2, 0, w, h, chunks)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := sniff(b)
		if err != nil || w.name != "WebP" {
			return
		}
		p, err := Open(t.Context(), b)
		if err != nil || p.checkLimits(&Decoder{MaxPixels: 1 << 18}, nil) != nil {
			return
		}
		im, err := p.source.decode(t.Context())
		if err == nil && (im.Bounds().Dx() < 1 || im.Bounds().Dy() < 1) {
			t.Fatalf("%v", im.Bounds())
		}
	})
}

// FuzzScans makes progressive files of any shape and damages them.
func FuzzScans(f *testing.F) {
	f.Add(uint16(20), uint16(30), uint8(3), 70, uint8(0))
	f.Add(uint16(300), uint16(1), uint8(maxScans), 91, uint8(0xff))
	f.Add(uint16(8), uint16(8), uint8(maxScans+1), 0, uint8(0))
	f.Fuzz(func(t *testing.T, w, h uint16, n uint8, at int, v uint8) {
		w, h = w%512+1, h%512+1
		b := progressive(w, h, int(n))
		if found, p := numScans(b); found != int(n) || !p {
			t.Fatalf("%d scans of %d, progressive: %v", found, n, p)
		}
		dec, im := Decoder{MaxPixels: 1 << 18}, Image{}
		err := dec.Decode(t.Context(), &im, b)
		if (err == nil) != (0 < n && n <= maxScans) {
			t.Fatalf("%d scans: %v", n, err)
		}
		if at >= 0 {
			b[at%len(b)] ^= v
			dec.Decode(t.Context(), &im, b)
		}
	})
}

// FuzzOrientation looks for the orientation in files of every format, damaged in any
// way, which is one of the eight.
func FuzzOrientation(f *testing.F) {
	exif := directory(binary.BigEndian, 8, [3]uint16{0x0112, 3, 6})
	f.Add(formatFile(f, "jpeg-exif6.jpg"))
	f.Add(withPNG(f, formatFile(f, "png-grey.png"), "eXIf", exif, false))
	f.Add(withWebP(f, "webp.webp", exif))
	f.Add(turnedTIFF(f, formatFile(f, "tiff.tif"), 6))
	f.Add(exif)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Open(t.Context(), b)
		if err != nil {
			return
		}
		if o := p.source.orientation; p.source.sandbox == nil && (o < 1 || o > 8) {
			t.Fatalf("orientation %d", o)
		}
	})
}
