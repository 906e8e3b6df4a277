package jpeg

import "encoding/binary"

// Header is what the headers of a file say, without a look at its data.
type Header struct {
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
	isSplit bool // the first scan has not all components
}

// ReadHeader reads the headers of a file up to its first scan; ok is false if it has no frame.
func ReadHeader(b []byte) (k Header, ok bool) {
	k.adobe = -1
	for at := 2; at+4 <= len(b); {
		marker := b[at+1]
		if b[at] != 0xff || marker == 0xff || marker == 0 || rst0 <= marker && marker <= soi {
			at++ // stray bytes, padding
			continue
		}
		n := int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == sos && n > 2 && at+4 < len(b) {
			k.isSplit = int(b[at+4]) != k.Components
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

// UnsupportedReason names a kind of JPEG that neither this package nor image/jpeg reads, "" for others.
func (k *Header) UnsupportedReason() string {
	switch k.marker {
	case 0xc3, 0xcb:
		return "lossless JPEG"
	case 0xc5, 0xc6, 0xc7, 0xcd, 0xce, 0xcf:
		return "hierarchical JPEG"
	case 0xc9, 0xca:
		return "JPEG with arithmetic coding"
	}
	switch {
	case k.Bits != 8:
		return "JPEG with samples of more than 8 bits"
	case k.Components != 1 && k.Components != 3 && k.Components != 4:
		return "JPEG of two or more than four colours"
	case k.W > 0 && k.H == 0:
		return "JPEG with its height after the picture (DNL)"
	case k.Components == 4 && k.adobe < 0:
		return "CMYK in JPEG that does not say how (without Adobe's segment)"
	case !k.hasUsualSizes():
		return "JPEG with colours of these sizes"
	}
	return ""
}

// IsDecodable reports whether Decode reads a file, if it is not damaged: only then can it be made
// smaller while it is decoded.
func (k *Header) IsDecodable() bool {
	switch k.marker {
	case sof0, sof1, sof2:
		if k.isSplit && k.marker != sof2 {
			return false
		}
		return k.UnsupportedReason() == "" && (k.Components == 1 || k.Components == 3 && k.isYCbCr())
	}
	return false
}

// IsProgressive reports whether the coefficients are kept until the file ends.
func (k *Header) IsProgressive() bool { return k.marker == sof2 }

// Bytes is at most what Decode takes for a picture whose sides are divided by shrink: planes and
// pixels of the result, and the coefficients of a progressive file.
func (k *Header) Bytes(shrink int) int64 {
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
	if k.IsProgressive() {
		need += units * blocks * 128
	}
	return need
}

// hasUsualSizes reports whether image/jpeg or Decode knows the sampling factors: chroma that is at most as large as
// luma, and CMYK whose black is as large as cyan.
func (k *Header) hasUsualSizes() bool {
	f := k.factors
	h, v := f[0]>>4, f[0]&15
	switch {
	case h < 1 || h > 4 || v < 1 || v > 4:
		return false
	case k.Components == 1:
		return true
	case f[1] != f[2] || f[1]>>4 == 0 || f[1]&15 == 0 || h%(f[1]>>4) != 0 || v%(f[1]&15) != 0:
		return false
	case k.Components == 4:
		return f[1] == 0x11 && f[3] == f[0] && (f[0] == 0x11 || f[0] == 0x22)
	}
	return k.isYCbCr() || h != 3 && v < 3
}

// isYCbCr decides, as libjpeg does, whether three components are YCbCr: JFIF says yes, Adobe's segment says which, all
// but 0 being so, and else the names of the components do.
func (k *Header) isYCbCr() bool {
	switch {
	case k.jfif:
		return true
	case k.adobe >= 0:
		return k.adobe != 0
	}
	return string(k.names) != "RGB"
}
