package colourspace

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

var (
	errProfile = errors.New("the colour profile is damaged")
	order      = binary.BigEndian
)

// The parts of an ICC profile (ICC.1:2022, section 7): a header, a count of tags, and for each tag its name, place and
// length.
const (
	iccHeader = 128
	iccTag    = 12
)

// d50 is the white of the space that profiles refer to.
var d50 = [3]float64{0.9642, 1, 0.8249}

// ReadICC reads a profile of curves and a matrix, or of a grey curve. Profiles of tables, and those of printers (CMYK),
// are Unsupported.
func ReadICC(b []byte) (*Space, error) {
	if len(b) < iccHeader+4 || string(b[36:40]) != "acsp" {
		return nil, errProfile
	}
	p := profile(b)
	switch space := strings.TrimSpace(string(b[16:20])); space {
	case "GRAY":
		if _, ok := p.tag("kTRC"); !ok {
			return nil, Unsupported("of a profile of tables")
		}
		curve, err := p.curve("kTRC")
		if err != nil {
			return nil, err
		}
		if string(b[20:24]) == "Lab " {
			lightness := curve
			curve = func(v float64) float64 { return luminance(lightness(v)) }
		}
		return &Space{Curves: [3]Curve{curve, curve, curve}, Grey: true}, nil
	case "RGB":
	default:
		return nil, Unsupported("of a profile for " + printableName(space))
	}
	if _, ok := p.tag("rXYZ"); !ok || string(b[20:24]) != "XYZ " {
		return nil, Unsupported("of a profile of tables")
	}
	s := &Space{}
	var toXYZ Matrix
	for k, colour := range []string{"r", "g", "b"} {
		curve, err := p.curve(colour + "TRC")
		if err != nil {
			return nil, err
		}
		s.Curves[k] = curve
		t, ok := p.tag(colour + "XYZ")
		if !ok || len(t) < 20 || string(t[:4]) != "XYZ " {
			return nil, errProfile
		}
		for i := range 3 {
			toXYZ[i][k] = fixed(t[8+4*i:])
		}
	}
	if _, ok := toXYZ.inverse(); !ok {
		return nil, errProfile
	}
	s.ToSRGB = fromXYZ(d50).times(toXYZ)
	return s, nil
}

// luminance returns the luminance from 0 to 1 of the lightness L* of CIE 1976, from 0 to 1.
func luminance(l float64) float64 {
	if f := (100*l + 16) / 116; f > 6./29 {
		return f * f * f
	}
	return 100 * l * 27 / 24389
}

// printableName returns letters of a file for a message.
func printableName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

type profile []byte

// tag returns the content of a tag.
func (p profile) tag(name string) ([]byte, bool) {
	n := int(min(order.Uint32(p[iccHeader:]), uint32(len(p)/iccTag)))
	for k := range n {
		at := iccHeader + 4 + iccTag*k
		if at+iccTag > len(p) {
			break
		}
		if string(p[at:at+4]) != name {
			continue
		}
		from, size := uint64(order.Uint32(p[at+4:])), uint64(order.Uint32(p[at+8:]))
		if from+size > uint64(len(p)) {
			break
		}
		return p[from : from+size], true
	}
	return nil, false
}

// fixed reads a number with 16 binary places.
func fixed(b []byte) float64 { return float64(int32(order.Uint32(b))) / (1 << 16) }

// curve reads a tag of the type curv or para.
func (p profile) curve(name string) (Curve, error) {
	t, ok := p.tag(name)
	if !ok || len(t) < 12 {
		return nil, errProfile
	}
	switch string(t[:4]) {
	case "curv":
		return sampledCurve(t[8:])
	case "para":
		return parametricCurve(t[8:])
	}
	return nil, errProfile
}

// sampledCurve reads a gamma or values at equal distances.
func sampledCurve(t []byte) (Curve, error) {
	n := uint64(order.Uint32(t))
	if t = t[4:]; 2*n > uint64(len(t)) {
		return nil, errProfile
	}
	switch n {
	case 0:
		return Gamma(1), nil
	case 1:
		return Gamma(float64(order.Uint16(t)) / 256), nil
	}
	return func(v float64) float64 {
		at := min(max(v, 0), 1) * float64(n-1)
		k := min(uint64(at), n-2)
		a, b := float64(order.Uint16(t[2*k:])), float64(order.Uint16(t[2*k+2:]))
		return (a + (b-a)*(at-float64(k))) / math.MaxUint16
	}, nil
}

// parametricCurve reads one of the functions 0 to 4 of section 10.18, each a case of the last:
// (a v + b)^g + e from v = d on, and c v + f below.
func parametricCurve(t []byte) (Curve, error) {
	kind := int(order.Uint16(t))
	count := []int{1, 3, 4, 5, 7}
	if t = t[4:]; kind >= len(count) || len(t) < 4*count[kind] {
		return nil, errProfile
	}
	v := make([]float64, 7) // g a b c d e f
	for i := range count[kind] {
		v[i] = fixed(t[4*i:])
	}
	g, a, b, c, d, e, f := v[0], v[1], v[2], v[3], v[4], v[5], v[6]
	switch kind {
	case 0:
		a, b, c, d, e, f = 1, 0, 0, 0, 0, 0
	case 1, 2:
		if a == 0 {
			return nil, errProfile
		}
		d, e, f, c = -b/a, c, c, 0 // c is 0 in function 1
	}
	return func(v float64) float64 {
		if v < d {
			return c*v + f
		}
		return math.Pow(max(a*v+b, 0), g) + e
	}, nil
}
