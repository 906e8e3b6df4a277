// Package jpeg decodes the common JPEG files of data sets, fast and into the caller's
// memory: 8-bit Huffman coding, in one interleaved scan or progressive, grey or YCbCr.
// All other files, and damaged ones, give ErrUnsupported: the caller then uses
// image/jpeg, which knows more kinds and gives the error message. ReadHeader names the kinds that
// image/jpeg does not read either.
//
// Chroma is enlarged by repetition, as image/jpeg does it, or smoothly, as libjpeg
// does it and with it most other programs; see Decoder.Smooth.
//
// A picture can be made smaller while it is decoded, to 1/2, 1/4 or 1/8 of its sides:
// of each block only the frequencies that the smaller picture can show are transformed,
// and chroma of half the size is not enlarged. What is left is mostly the decoding of
// the codes. See Decoder.Shrink.
package jpeg
