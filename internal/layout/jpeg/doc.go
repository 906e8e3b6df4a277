// Package jpeg decodes the JPEG files that data sets are made of: 8-bit
// sequential Huffman coding with one interleaved scan, grey or YCbCr, quickly and
// into memory that the caller keeps. All other files, and damaged ones, give
// ErrUnsupported: the caller then asks image/jpeg, which knows more kinds and has
// the last word on what is wrong.
//
// Chroma is enlarged by repetition, as image/jpeg does it, or smoothly, as libjpeg
// does it and with it most other programs; see Decoder.Smooth.
package jpeg
