package colourspace

import (
	"fmt"
	"math"
)

// Curve maps a stored value from 0 to 1 to linear light from 0 to 1.
type Curve func(v float64) float64

// Space is a colour space: a curve for each channel, and the matrix from its linear light to that of sRGB.
type Space struct {
	Curves [3]Curve
	ToSRGB Matrix
	// Grey is set for a space of one channel, the first. ToSRGB does not count then.
	Grey bool
}

// Matrix is a matrix of three rows.
type Matrix [3][3]float64

// times returns the product of a and b.
func (a Matrix) times(b Matrix) (c Matrix) {
	for i := range c {
		for j := range c[i] {
			for k := range b {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

// inverse returns the inverse of a; ok is false if a has none that is usable.
func (a Matrix) inverse() (c Matrix, ok bool) {
	minor := func(i, j int) float64 {
		i1, i2, j1, j2 := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
		return a[i1][j1]*a[i2][j2] - a[i1][j2]*a[i2][j1]
	}
	det := a[0][0]*minor(0, 0) + a[0][1]*minor(0, 1) + a[0][2]*minor(0, 2)
	if !(math.Abs(det) > 1e-9) {
		return c, false
	}
	for i := range c {
		for j := range c[i] {
			c[i][j] = minor(j, i) / det
		}
	}
	return c, true
}

// XY is a chromaticity.
type XY struct{ X, Y float64 }

// xyz returns the colour of luminance 1.
func (c XY) xyz() [3]float64 { return [3]float64{c.X / c.Y, 1, (1 - c.X - c.Y) / c.Y} }

// Primaries are the chromaticities of a space of three colours.
type Primaries struct{ Red, Green, Blue, White XY }

var (
	d65  = XY{0.3127, 0.3290}
	srgb = Primaries{XY{0.64, 0.33}, XY{0.3, 0.6}, XY{0.15, 0.06}, d65}
)

// SRGBPrimaries returns the primaries of sRGB, which are those of ITU-R 709.
func SRGBPrimaries() Primaries { return srgb }

// toXYZ returns the matrix from linear light to XYZ, whose white is that of the space.
func (p Primaries) toXYZ() (m Matrix, ok bool) {
	for _, c := range []XY{p.Red, p.Green, p.Blue, p.White} {
		if !(c.Y > 1e-4 && math.Abs(c.X) <= 2 && c.Y <= 2) {
			return m, false
		}
	}
	for k, c := range []XY{p.Red, p.Green, p.Blue} {
		for i, v := range c.xyz() {
			m[i][k] = v
		}
	}
	inverse, ok := m.inverse()
	white := p.White.xyz()
	for k := range m {
		scale := inverse[k][0]*white[0] + inverse[k][1]*white[1] + inverse[k][2]*white[2]
		for i := range m {
			m[i][k] *= scale
		}
	}
	return m, ok
}

// bradford is the matrix from XYZ to the responses of cones in Bradford's transform, the one of ICC profiles.
var bradford = Matrix{{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}}

// adapt returns the matrix that takes the white from to the white to, in XYZ.
func adapt(from, to [3]float64) Matrix {
	cones := func(v [3]float64) (r [3]float64) {
		for i := range r {
			r[i] = bradford[i][0]*v[0] + bradford[i][1]*v[1] + bradford[i][2]*v[2]
		}
		return r
	}
	a, b := cones(from), cones(to)
	back, _ := bradford.inverse()
	return back.times(Matrix{{b[0] / a[0]}, {0, b[1] / a[1]}, {0, 0, b[2] / a[2]}}).times(bradford)
}

// fromXYZ returns the matrix from XYZ with the given white to the linear light of sRGB.
func fromXYZ(white [3]float64) Matrix {
	m, _ := srgb.toXYZ()
	inverse, _ := m.inverse()
	return inverse.times(adapt(white, d65.xyz()))
}

// New returns the space of primaries and a curve. Its white becomes that of sRGB (Bradford).
func New(p Primaries, curve Curve) (*Space, error) {
	m, ok := p.toXYZ()
	if !ok {
		return nil, fmt.Errorf("primaries %v span no colours", p)
	}
	return &Space{Curves: [3]Curve{curve, curve, curve}, ToSRGB: fromXYZ(p.White.xyz()).times(m)}, nil
}

// SRGB is the curve of sRGB (IEC 61966-2-1).
func SRGB(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// encode is the inverse of SRGB.
func encode(l float64) float64 {
	if l <= 0.0031308 {
		return 12.92 * l
	}
	return 1.055*math.Pow(l, 1/2.4) - 0.055
}

// Gamma returns the curve v^g.
func Gamma(g float64) Curve { return func(v float64) float64 { return math.Pow(v, g) } }
