// Package jpeg decodes the JPEG files that data sets are made of: 8-bit Huffman
// coding, in one interleaved scan or progressive, grey or YCbCr, quickly and into
// memory that the caller keeps. All other files, and damaged ones, give
// ErrUnsupported: the caller then asks image/jpeg, which knows more kinds and has
// the last word on what is wrong.
//
// Chroma is enlarged by repetition, as image/jpeg does it, or smoothly, as libjpeg
// does it and with it most other programs; see Decoder.Smooth.
//
// A picture can be made smaller while it is decoded, to 1/2, 1/4 or 1/8 of its sides:
// of each block only the frequencies that the smaller picture can show are transformed,
// and chroma of half the size is not enlarged. What is left is mostly the decoding of
// the codes. See Decoder.Shrink.
package jpeg
