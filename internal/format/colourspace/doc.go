// Package colourspace converts pixels to sRGB from the colour space that their file declares: an ICC profile of
// curves and a matrix, the primaries and gamma of a PNG file, or the numbers of ITU-T H.273 (cICP, nclx).
//
// It is our own, because no library fits: github.com/kovidgoyal/imaging v1.9.0 reads profiles alone, takes memory by
// an unchecked count of their tags, and converts each pixel through several interface calls.
package colourspace
