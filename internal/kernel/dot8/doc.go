// Package dot8 computes dot products of rows rounded to 8 bits: at twice the rate of
// package dot16 with AVX-512 VNNI, at nine times with the matrix unit AMX-INT8; on arm64
// with SDOT or, where there is USMMLA, with that. What the rounding lost is kept as a
// bound, so that a caller can tell which comparisons of products are certain; the others
// it takes up with Distance or Dot in float32, whose error is some ten thousand times
// smaller, and settles what is left in float64.
//
// A row x is placed first, w = x*f - m, with a factor of its own and a point m that all
// rows share, such as their mean: what they have in common would take up most of the 8
// bits. For placed rows x' and y' of x and y,
//
//	x.y f_x f_y = x'.y' + x'.m + y'.m + m.m
//	||x - y||^2 f^2 = ||x'||^2 + ||y'||^2 - 2 x'.y'
//
// so that x'.y' is all that depends on both, and Place returns what else it takes.
//
// In: float rows; rows of a strip as PackRow lays them out, columns as PackColumn does,
// which may be stored and mapped: their bytes are the same on every machine. Out: strips
// of exact products of the integers, for Filter and Best of package dot16.
package dot8
