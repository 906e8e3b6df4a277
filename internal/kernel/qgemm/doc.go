// Package qgemm holds the kernels of quantised networks: products of 8-bit integers
// summed in 32 bits, and what turns values into bytes and back.
//
// A value x is quantised as the byte q = round(x/scale) + zero, clamped to 0..255, halves
// to even; zero is the byte of 0. Weights are signed, -127..127, without a zero of
// their own. So the operands fit the instructions that multiply bytes: VPDPBUSD
// takes bytes without a sign from one side and with one from the other, and a value
// that a rectifier has passed, whose zero is 0, uses all 256 of them. What zero adds
// to a sum, zero times the sum of the weights, is the caller's to subtract.
//
// No sum can overflow: a product is at most 255*127, and MaxDepth of them fit 32 bits.
// No product is summed in 16 bits, where two of them would not fit. Sums are therefore
// the same integers on every machine; what follows rounds each multiplication and each
// addition to float32 by itself, without fusing any, and gives the same bits too.
package qgemm
