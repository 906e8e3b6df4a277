package scan

import (
	"math"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// MaxBelow returns the greatest x[i] below limit and its first index, or -Inf
// and -1 if no value is above -Inf. x holds no NaN.
func MaxBelow(x []float32, limit float32) (best float32, at int) {
	best, at = float32(math.Inf(-1)), -1
	from := 0
	if w := width(); w > 0 && len(x) >= w {
		from = len(x) / w * w
		var val [16]float32
		var idx [16]int32
		maxBelow(x[:from], limit, &val, &idx)
		for l := range w {
			if idx[l] >= 0 && (val[l] > best || val[l] == best && int(idx[l]) < at) {
				best, at = val[l], int(idx[l])
			}
		}
	}
	for i, v := range x[from:] {
		if v < limit && v > best {
			best, at = v, from+i
		}
	}
	return best, at
}

// Largest returns the greatest finite x[i], or -Inf: the first result of MaxBelow, in a
// quarter of the time, as nobody asks where it is.
func Largest(x []float32) float32 {
	inf := float32(math.Inf(1))
	best := simd.Max(x)
	if best == inf {
		best, _ = MaxBelow(x, inf)
	}
	return best
}

// Between writes the indices i with lo < x[i] < hi, ascending, to dst[:0] and
// returns it. dst must have capacity for ListCap(len(x)).
func Between(x []float32, lo, hi float32, dst []int32) []int32 {
	dst = dst[:cap(dst)]
	n, from := 0, 0
	if hasWide() && len(x) >= 16 {
		check(x, dst)
		from = len(x) / 16 * 16
		n = between(x[:from], lo, hi, dst)
	}
	for i, v := range x[from:] {
		if v > lo && v < hi {
			dst[n] = int32(from + i)
			n++
		}
	}
	return dst[:n]
}

// AbsAbove writes the indices i with |x[i]| > lo, ascending, to dst[:0] and
// returns it. dst must have capacity for ListCap(len(x)).
func AbsAbove(x []float32, lo float32, dst []int32) []int32 {
	dst = dst[:cap(dst)]
	n, from := 0, 0
	if hasWide() && len(x) >= 16 {
		check(x, dst)
		from = len(x) / 16 * 16
		n = absAbove(x[:from], lo, dst)
	}
	for i, v := range x[from:] {
		if v > lo || v < -lo {
			dst[n] = int32(from + i)
			n++
		}
	}
	return dst[:n]
}

// AbsMax returns the greatest |x[i]|, 0 for an empty x.
func AbsMax(x []float32) float32 {
	var best float32
	from := 0
	if hasWide() && len(x) >= 16 {
		from = len(x) / 16 * 16
		var val [16]float32
		absMax(x[:from], &val)
		for _, v := range val {
			if v > best {
				best = v
			}
		}
	}
	for _, v := range x[from:] {
		if v > best {
			best = v
		} else if -v > best {
			best = -v
		}
	}
	return best
}

// AbsBelowSum returns the sum of those |x[i]| that do not exceed most.
func AbsBelowSum(x []float32, most float32) float32 {
	var sum [16]float32
	from := 0
	if hasWide() && len(x) >= 16 {
		from = len(x) / 16 * 16
		absBelowSum(x[:from], most, &sum)
	}
	for i, v := range x[from:] {
		if v < 0 {
			v = -v
		}
		if v <= most {
			sum[i%16] += v
		}
	}
	var total float32
	for _, v := range sum {
		total += v
	}
	return total
}

// ListCap returns the capacity that a list of up to n indices needs: kernels write
// whole registers.
func ListCap(n int) int { return n + 16 }

func check(x []float32, dst []int32) {
	if len(dst) < ListCap(len(x)) {
		panic("scan: no room for the indices")
	}
}

// ExpSum sets dst[i] = exp(a x[i] + b) and returns the sum. Results below the
// smallest normal float32 are 0; a x + b must not exceed 88 and a is not 0. dst may be x. It
// panics if the lengths differ.
func ExpSum(dst, x []float32, a, b float32) float32 {
	if len(dst) != len(x) {
		panic("scan: slices of different length")
	}
	var sum [16]float32
	from := 0
	if w := width(); w > 0 {
		from = len(x) / w * w
		if from > 0 {
			expSum(dst[:from], x[:from], a, b, &sum)
		}
		if rest := len(x) - from; rest > 0 {
			// The rest, filled up with what adds nothing.
			var tail [16]float32
			n := copy(tail[:], x[from:])
			for k := n; k < w; k++ {
				tail[k] = float32(math.Copysign(math.MaxFloat32, float64(-a)))
			}
			expSum(tail[:w], tail[:w], a, b, &sum)
			copy(dst[from:], tail[:n])
		}
	} else {
		for i, v := range x {
			dst[i] = exp(a*v + b)
			sum[i%16] += dst[i]
		}
	}
	var total float32
	for _, s := range sum {
		total += s
	}
	return total
}

// exp is the reference for ExpSum.
func exp(t float32) float32 {
	if t < -87.33654 {
		return 0
	}
	return float32(math.Exp(float64(t)))
}
