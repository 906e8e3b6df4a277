package jpeg

import "encoding/binary"

// Kind is what the headers of a file say, without a look at its data.
type Kind struct {
	W, H int
	// Bits is the precision of a sample.
	Bits int
	// Components is the number of colours.
	Components int

	marker  byte
	factors []byte // of sampling, by component
	names   []byte // of the components
	adobe   int    // the transform that Adobe's segment names; -1 without one
	jfif    bool
	apart   bool // the first scan has not all components
}

// ReadKind reads the headers of a file up to its first scan; ok is false if it has no frame.
func ReadKind(b []byte) (k Kind, ok bool) {
	k.adobe = -1
	for at := 2; at+4 <= len(b); {
		marker := b[at+1]
		if b[at] != 0xff || marker == 0xff || marker == 0 || rst0 <= marker && marker <= soi {
			at++ // stray bytes, padding
			continue
		}
		n := int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == sos && n > 2 && at+4 < len(b) {
			k.apart = int(b[at+4]) != k.Components
		}
		if n < 2 || at+2+n > len(b) || marker == eoi || marker == sos {
			return k, ok
		}
		seg := b[at+4 : at+2+n]
		at += 2 + n
		switch {
		case marker == appE && len(seg) >= 12 && string(seg[:5]) == "Adobe":
			k.adobe = int(seg[11])
		case marker == app0 && len(seg) >= 5 && string(seg[:5]) == "JFIF\x00":
			k.jfif = true
		case sof0 <= marker && marker <= 0xcf && marker != dht && marker != 0xc8 && marker != dac && !ok:
			if len(seg) < 6 || len(seg) != 6+3*int(seg[5]) {
				return k, false
			}
			k.marker, k.Bits, k.Components = marker, int(seg[0]), int(seg[5])
			k.H, k.W = int(binary.BigEndian.Uint16(seg[1:])), int(binary.BigEndian.Uint16(seg[3:]))
			for i := range k.Components {
				k.names, k.factors = append(k.names, seg[6+3*i]), append(k.factors, seg[7+3*i])
			}
			ok = true
		}
	}
	return k, ok
}

// Unread names a kind of JPEG that neither this package nor image/jpeg reads, "" for others.
func (k *Kind) Unread() string {
	switch k.marker {
	case 0xc3, 0xcb:
		return "lossless JPEG"
	case 0xc5, 0xc6, 0xc7, 0xcd, 0xce, 0xcf:
		return "hierarchical JPEG"
	}
	switch {
	case k.Bits != 8:
		return "JPEG with samples of more than 8 bits"
	case k.Components != 1 && k.Components != 3 && k.Components != 4:
		return "JPEG of two or more than four colours"
	case !k.whole():
		return "JPEG whose colours have sizes that do not divide each other"
	}
	return ""
}

// Rare reports whether only DecodeAny reads a file as libjpeg does: arithmetic coding, chroma of
// uneven sizes, RGB whose colours have several sizes, four colours.
func (k *Kind) Rare() bool {
	if k.Unread() != "" {
		return false
	}
	f := k.factors
	switch {
	case k.marker == sof9 || k.marker == sofA:
		return true
	case k.Components == 3:
		rgb := !isYCbCr(k.names, k.adobe, k.jfif)
		return f[1] != f[2] || rgb && f[0] != f[1] || f[0]>>4%(f[1]>>4) != 0 || f[0]&15%(f[1]&15) != 0
	case k.Components == 4:
		return true
	}
	return false
}

// Usual reports whether Decode reads a file, if it is not damaged: only then can it be made
// smaller while it is decoded.
func (k *Kind) Usual() bool {
	switch k.marker {
	case sof0, sof1, sof2:
		if k.apart && k.marker != sof2 {
			return false
		}
		return k.Bits == 8 && !k.Rare() && (k.Components == 1 || k.Components == 3 && isYCbCr(k.names, k.adobe, k.jfif))
	}
	return false
}

// Progressive reports whether the coefficients are kept until the file ends.
func (k *Kind) Progressive() bool { return k.marker == sof2 || k.marker == sofA || k.Rare() }

// Bytes is at most what Decode takes for a picture whose sides are divided by shrink: planes and
// pixels of the result, and the coefficients of a progressive file.
func (k *Kind) Bytes(shrink int) int64 {
	units, h, v := k.units()
	blocks := int64(1)
	if k.Components > 1 {
		blocks = 0
		for _, f := range k.factors {
			blocks += int64(f>>4) * int64(f&15)
		}
	}
	side := int64(8 / shrink)
	n := int64(k.Components)
	need := 2 * n * units * h * v * side * side // a plane of chroma may be as large as that of luma
	need += 4*n*(int64(k.W)+int64(k.H)) + 64    // rounding of sides
	if k.Progressive() {
		need += units * blocks * 128
	}
	return need
}

// whole reports whether every sampling factor divides the largest.
func (k *Kind) whole() bool {
	var h, v byte
	for _, f := range k.factors {
		if f>>4 == 0 || f&15 == 0 {
			return false
		}
		h, v = max(h, f>>4), max(v, f&15)
	}
	for _, f := range k.factors {
		if h%(f>>4) != 0 || v%(f&15) != 0 {
			return false
		}
	}
	return true
}
