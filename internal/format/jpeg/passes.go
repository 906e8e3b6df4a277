package jpeg

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Passes is the work of decoding a file. Each scan passes over all samples of its components,
// however few bytes it has.
type Passes struct {
	Scans   int
	Samples int64 // of all scans together
}

const (
	// maxScans is the largest number of scans. Encoders write about ten.
	maxScans = 40
	// maxSamples is the largest number of samples of all scans together: those of a progressive
	// file of 180 million pixels, as encoders write it, with chroma of half the sides.
	maxSamples = 3 << 29
)

// Check returns an error if decoding takes more work than is allowed.
func (p Passes) Check() error {
	switch {
	case p.Scans > maxScans:
		return fmt.Errorf("JPEG of %d scans: more than the %d allowed", p.Scans, maxScans)
	case p.Samples > maxSamples:
		return fmt.Errorf("JPEG whose %d scans have %d samples in all: more than the %d allowed", p.Scans, p.Samples,
			int64(maxSamples))
	}
	return nil
}

// CountPasses counts the scans of a file whose kind is k. If a marker is missing, it searches for the
// next one, as image/jpeg does.
func (k *Header) CountPasses(b []byte) (p Passes) {
	for at := 2; at+1 < len(b); {
		next := bytes.IndexByte(b[at:len(b)-1], 0xff)
		if next < 0 {
			return p
		}
		at += next
		marker := b[at+1]
		switch {
		case marker == 0xff || marker == 0: // padding, data of a scan
			at++
			continue
		case marker == eoi:
			return p
		case rst0 <= marker && marker <= soi: // markers without a segment
			at += 2
			continue
		}
		if marker == sos {
			p.Scans++
			p.Samples += k.samples(b[min(at+4, len(b)):])
		}
		if at+4 > len(b) {
			return p
		}
		at += 2 + max(2, int(binary.BigEndian.Uint16(b[at+2:])))
	}
	return p
}

// samples is the number of samples that a scan with this header passes over. A component that is
// not one of the file's counts as one of full size.
func (k *Header) samples(header []byte) int64 {
	n := 0
	if len(header) > 0 {
		n = min(int(header[0]), 4, (len(header)-1)/2)
	}
	units, hmax, vmax := k.units()
	var blocks int64
	for i := range n {
		own := hmax * vmax
		if c := bytes.IndexByte(k.names, header[1+2*i]); c >= 0 && k.Components > 1 {
			own = int64(k.factors[c]>>4) * int64(k.factors[c]&15)
		}
		blocks += own
	}
	return units * blocks * 64
}

// units returns the number of units of an interleaved scan, and the largest sampling factors.
func (k *Header) units() (n, hmax, vmax int64) {
	hmax, vmax = 1, 1
	if k.Components > 1 {
		for _, f := range k.factors {
			hmax, vmax = max(hmax, int64(f>>4)), max(vmax, int64(f&15))
		}
	}
	return ((int64(k.W) + 8*hmax - 1) / (8 * hmax)) * ((int64(k.H) + 8*vmax - 1) / (8 * vmax)), hmax, vmax
}
