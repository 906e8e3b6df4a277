package dot8

import (
	"fmt"
	"math"
)

// Placed says what Place made of a row.
type Placed struct {
	Square  float64 // the sum of the squares of w
	Dot     float64 // the product of w with m
	Largest float32 // the largest magnitude in w
}

// Place writes w = x*f - m, rounded to float32 after each operation, and sums it up, with
// the same bits on every machine. It panics if the lengths differ.
func Place(w, x, m []float32, f float32) Placed {
	if len(w) != len(x) || len(m) != len(x) {
		panic(fmt.Sprintf("dot8: %d values of %d placed about %d", len(w), len(x), len(m)))
	}
	var sums [48]float32
	n := len(x) &^ 15
	if n > 0 {
		place(w[:n], x[:n], m[:n], f, &sums)
	}
	placeGeneric(w[n:], x[n:], m[n:], f, &sums)
	p := Placed{Square: float64(sumLanes(sums[:16])), Dot: float64(sumLanes(sums[16:32]))}
	for _, v := range sums[32:] {
		p.Largest = max(p.Largest, v)
	}
	return p
}

// placeGeneric takes in values, the first of them in lane 0. The conversions keep
// compilers from fusing.
func placeGeneric(w, x, m []float32, f float32, sums *[48]float32) {
	for i, v := range x {
		l := i % 16
		u := float32(v*f) - m[i]
		w[i] = u
		sums[l] += float32(u * u)
		sums[16+l] += float32(u * m[i])
		sums[32+l] = max(sums[32+l], float32(math.Abs(float64(u))))
	}
}

// sumLanes adds 16 lanes by halves.
func sumLanes(lanes []float32) float32 {
	var s [16]float32
	copy(s[:], lanes)
	for half := 8; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[i+half]
		}
	}
	return s[0]
}

// Code says what rounding a placed row to 8 bits came to.
type Code struct {
	Unit float32 // the row is about Unit times its integers
	Sum  int32   // of the integers
	Norm float64 // at least the length of the row
	Loss float64 // at least the length of what rounding took from it, and placing
}

// Quantize rounds w, which Place made about a point m of the given length, to q =
// round(w * 127/largest), and the rest of q, up to Depth, to zeros. A row that is not
// finite has an infinite loss. It panics if q is too short.
func Quantize(q []int8, w []float32, p Placed, length float64) Code {
	d := len(w)
	clear(q[d:Depth(d)])
	if p.Largest == 0 {
		clear(q[:d])
		return Code{Loss: slack(0, length, d)}
	}
	unit := p.Largest / 127
	s := 127 / p.Largest
	if square := float32(p.Square); square-square != 0 || s-s != 0 || p.Largest-p.Largest != 0 || unit < 0x1p-120 {
		clear(q[:d])
		return Code{Norm: math.Inf(1), Loss: math.Inf(1)}
	}
	var lost [16]float32
	var sum [16]int32
	n := d &^ 15
	if n > 0 {
		quantize(q[:n], w[:n], s, unit, &lost, &sum)
	}
	quantizeGeneric(q[n:d], w[n:], s, unit, &lost, &sum)
	c := Code{Unit: unit}
	for _, v := range sum {
		c.Sum += v
	}
	// What the sums may have lost themselves.
	rel := 1 + 0x1p-22*float64(d+64)
	c.Norm = float64(math.Sqrt(p.Square)*rel) + slack(0, length, d)
	c.Loss = float64(math.Sqrt(float64(sumLanes(lost[:])))*rel) + slack(c.Norm, length, d)
	return c
}

// slack bounds the length of the rounding errors of Place and of the differences in
// Quantize, for a row of the given norm about a point of the given length.
func slack(norm, length float64, d int) float64 {
	return float64(0x1p-20*(norm+length)) + float64(1e-40*math.Sqrt(float64(d)))
}

func quantizeGeneric(q []int8, w []float32, s, unit float32, lost *[16]float32, sum *[16]int32) {
	for i, v := range w {
		r := float32(math.RoundToEven(float64(float32(v * s))))
		q[i] = int8(r)
		e := v - float32(r*unit)
		lost[i%16] += float32(e * e)
		sum[i%16] += int32(q[i])
	}
}
