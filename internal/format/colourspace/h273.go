package colourspace

import "fmt"

// Unsupported is the error of a colour space that is not converted. It is the name of the space.
type Unsupported string

func (u Unsupported) Error() string { return "the colour space " + string(u) + " is not supported" }

// FromH273 returns the space of colour primaries and transfer characteristics by their numbers in ITU-T H.273, as the
// PNG chunk cICP and the box nclx have them. The curves 1, 6, 14 and 15 are those of cameras. Programs write them for
// pictures in sRGB and screens show them so: they count as sRGB, as do unspecified numbers.
func FromH273(primaries, transfer int) (*Space, error) {
	p, ok := PrimariesH273(primaries)
	if !ok {
		return nil, Unsupported(fmt.Sprintf("with colour primaries %d of ITU-T H.273", primaries))
	}
	curve, err := CurveH273(transfer)
	if err != nil {
		return nil, err
	}
	return New(p, curve)
}

// CurveH273 returns the curve of transfer characteristics; see FromH273.
func CurveH273(transfer int) (Curve, error) {
	switch transfer {
	case 1, 2, 6, 7, 11, 12, 13, 14, 15:
		return SRGB, nil
	case 4:
		return Gamma(2.2), nil
	case 5:
		return Gamma(2.8), nil
	case 8:
		return Gamma(1), nil
	case 16:
		return nil, Unsupported("PQ (HDR)")
	case 18:
		return nil, Unsupported("HLG (HDR)")
	case 17:
		return func(v float64) float64 { return min(52.37/48*Gamma(2.6)(v), 1) }, nil
	}
	return nil, Unsupported(fmt.Sprintf("with transfer characteristics %d of ITU-T H.273", transfer))
}

// PrimariesH273 returns colour primaries by their number; ok is false for a number that has none.
func PrimariesH273(number int) (p Primaries, ok bool) {
	c, dci := XY{0.310, 0.316}, XY{0.314, 0.351}
	p3 := func(white XY) Primaries { return Primaries{XY{0.68, 0.32}, XY{0.265, 0.69}, XY{0.15, 0.06}, white} }
	switch number {
	case 1, 2:
		return srgb, true
	case 4:
		return Primaries{XY{0.67, 0.33}, XY{0.21, 0.71}, XY{0.14, 0.08}, c}, true
	case 5:
		return Primaries{XY{0.64, 0.33}, XY{0.29, 0.60}, XY{0.15, 0.06}, d65}, true
	case 6, 7:
		return Primaries{XY{0.63, 0.34}, XY{0.31, 0.595}, XY{0.155, 0.07}, d65}, true
	case 8:
		return Primaries{XY{0.681, 0.319}, XY{0.243, 0.692}, XY{0.145, 0.049}, c}, true
	case 9:
		return Primaries{XY{0.708, 0.292}, XY{0.17, 0.797}, XY{0.131, 0.046}, d65}, true
	case 11:
		return p3(dci), true
	case 12:
		return p3(d65), true
	case 22:
		return Primaries{XY{0.63, 0.34}, XY{0.295, 0.605}, XY{0.155, 0.077}, d65}, true
	}
	return Primaries{}, false
}
