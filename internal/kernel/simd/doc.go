// Package simd holds the float32 kernels that everything else is built from:
// the matrix-product tile, vector reductions and maps, and the row-wise kernels
// of the network's layers. Each exists for AVX-512, for AVX2 with FMA, for NEON and
// in plain Go; the widest one that the processor has is chosen when the program
// starts.
//
// The environment variable KINDRED_ISA (avx512, avx2, neon or go), read once, lowers
// that choice; it never raises it. Building with the tag noasm leaves plain Go
// only. Levels differ in the last bits of their results as they sum in
// different orders; one level gives the same bits always.
//
// Slices passed to one call must not overlap unless they are the same slice
// from the same start. The assembly is generated: see gen and `make gen`.
package simd
