package fft

import (
	"fmt"
	"math"
)

// Lanes is the number of sequences that are transformed together.
const Lanes = 8

// Plan holds what the transforms of one length need. Any number of goroutines may use it.
type Plan struct {
	n      int
	stages []stage
}

// stage is a pass over all numbers (Stockham's order, which needs no reversal of bits).
type stage struct {
	radix   int
	groups  int       // each has factors of its own
	stride  int       // numbers with the same factors, in each of radix places
	factors []float64 // of each group: re, -im, im for the places but the first
}

// New returns the plan for sequences of n numbers. It panics if n has other prime factors than 2, 3 and 5.
func New(n int) *Plan {
	if n < 1 {
		panic(fmt.Sprintf("fft: a length of %d", n))
	}
	p := &Plan{n: n}
	stride := 1
	for left := n; left > 1; {
		radix := 0
		for _, r := range []int{4, 5, 3, 2} {
			if left%r == 0 {
				radix = r
				break
			}
		}
		if radix == 0 {
			panic(fmt.Sprintf("fft: a length of %d: its prime factors must be 2, 3 and 5", n))
		}
		s := stage{radix: radix, groups: left / radix, stride: stride}
		for g := range s.groups {
			for k := 1; k < radix; k++ {
				im, re := math.Sincos(-2 * math.Pi * float64(g*k%left) / float64(left))
				s.factors = append(s.factors, re, -im, im)
			}
		}
		p.stages = append(p.stages, s)
		stride *= radix
		left /= radix
	}
	return p
}

// Transform returns the transforms
//
//	X[k] = sum_a x[a] exp(-2 pi i a k / n)
//
// of Lanes sequences. Number a of sequence l is x[a*Lanes+l]. The result is x or work, and the other one is
// overwritten. It panics if their lengths are not n Lanes.
func (p *Plan) Transform(x, work []complex128) []complex128 {
	if len(x) != p.n*Lanes || len(work) != len(x) {
		panic(fmt.Sprintf("fft: %d and %d numbers for %d sequences of %d", len(x), len(work), Lanes, p.n))
	}
	for _, s := range p.stages {
		width := s.stride * Lanes
		for g := range s.groups {
			pass(s.radix, work[g*s.radix*width:], x[g*width:], width, s.groups*width,
				s.factors[g*3*(s.radix-1):(g+1)*3*(s.radix-1)], width)
		}
		x, work = work, x
	}
	return x
}

// passGeneric transforms n vectors of radix numbers, which are srcStep apart, multiplies them by the factors and
// writes them dstStep apart. The conversions keep compilers from fusing.
func passGeneric(radix int, dst, src []complex128, dstStep, srcStep int, factors []float64, n int) {
	var x, y [5]complex128
	for i := range n {
		for k := range radix {
			x[k] = src[k*srcStep+i]
		}
		butterfly(radix, &x, &y)
		dst[i] = y[0]
		for k := 1; k < radix; k++ {
			f := factors[3*(k-1):]
			re, im := real(y[k]), imag(y[k])
			dst[k*dstStep+i] = complex(float64(re*f[0])+float64(im*f[1]), float64(im*f[0])+float64(re*f[2]))
		}
	}
}

const (
	sin60  = 0.8660254037844386
	cos72  = 0.30901699437494745
	sin72  = 0.9510565162951535
	cos144 = -0.8090169943749475
	sin144 = 0.5877852522924731
)

// turn is x times -i.
func turn(x complex128) complex128 { return complex(imag(x), -real(x)) }

// times is x times a real number.
func times(x complex128, f float64) complex128 {
	return complex(float64(real(x)*f), float64(imag(x)*f))
}

// butterfly sets y to the transform of radix numbers.
func butterfly(radix int, x, y *[5]complex128) {
	switch radix {
	case 2:
		y[0], y[1] = x[0]+x[1], x[0]-x[1]
	case 3:
		t := x[1] + x[2]
		m, n := x[0]-times(t, 0.5), times(turn(x[1]-x[2]), sin60)
		y[0], y[1], y[2] = x[0]+t, m+n, m-n
	case 4:
		a, b := x[0]+x[2], x[0]-x[2]
		c, d := x[1]+x[3], turn(x[1]-x[3])
		y[0], y[1], y[2], y[3] = a+c, b+d, a-c, b-d
	default:
		t1, t2, t3, t4 := x[1]+x[4], x[2]+x[3], x[1]-x[4], x[2]-x[3]
		m1 := x[0] + times(t1, cos72) + times(t2, cos144)
		m2 := x[0] + times(t1, cos144) + times(t2, cos72)
		n1, n2 := turn(times(t3, sin72)+times(t4, sin144)), turn(times(t3, sin144)-times(t4, sin72))
		y[0], y[1], y[2], y[3], y[4] = x[0]+t1+t2, m1+n1, m2+n2, m2-n2, m1-n1
	}
}
