// Package bf16 holds the kernels of bfloat16 arithmetic: the matrix-product tile
// that multiplies bfloat16 values and sums in float32, and the conversions that
// lay its operands out. A bfloat16 is the upper half of a float32: its sign, its 8
// bits of exponent and the first 7 of its fraction.
//
// Float32 is rounded to the nearest bfloat16, halves to even; what is subnormal
// becomes zero of its sign, NaN stays NaN. Products of two bfloat16 are exact in
// float32. Their sum is rounded to nearest after each addition, subnormal results
// become zero, and the order of additions is the instruction set's:
//
//   - AMX (TDPBF16PS): for each 32 values of the depth, those of even and of odd
//     index are summed apart, in order, from zero; the two sums are added to each
//     other, then to the sum of the steps before.
//   - AVX-512 (VDPBF16PS, AVX512_BF16): value after value, in each pair the second
//     before the first.
//   - plain Go: as AMX, to the bit.
//
// So one instruction set gives the same bits always, and two of them differ in the
// last bits of float32. KINDRED_ISA=avx512 leaves the matrix unit alone, avx2 and
// go have everything done by plain Go.
package bf16
