package imaging

// ColourSpace is what a file says about its colours. All of it may be missing; then colours are taken for sRGB. Of
// several statements the first of these fields counts.
type ColourSpace struct {
	// CICP has the code points of ITU-T H.273 for primaries and transfer function. 2 is unspecified. It is zero
	// without them.
	CICP struct{ Primaries, Transfer uint8 }
	// ICC is a profile of the International Color Consortium, of at most mostProfile bytes. It may share the memory of
	// the file, and may be damaged.
	ICC []byte
	// SRGB is set if the file says that its colours are sRGB.
	SRGB bool
	// Gamma is the exponent from light to samples, as 0.45455; 0 without one.
	Gamma float64
	// Chromaticities are x and y of white, red, green and blue, or all zero.
	Chromaticities [8]float64
}

// mostProfile is the size of the largest profile that is read. Those of printers have up to 3 MB.
const mostProfile = 4 << 20

// smallProfile returns a profile, or nil for one that is too large.
func smallProfile(b []byte) []byte {
	if len(b) > mostProfile {
		return nil
	}
	return b
}
