// Package pix holds the inner loops of image preparation, from the planes of JPEG and 8-bit pixels to
// normalised float32: AVX2 or NEON where the processor has them, plain Go elsewhere. The
// plain loops define what the kernels compute, up to the rounding of fused
// multiply-adds.
package pix
