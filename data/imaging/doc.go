// Package imaging reads image files.
//
// An Image is plain 8-bit pixels, and an image.Image. A Decoder reads JPEG, PNG,
// GIF, BMP, WebP, TIFF and other files (FileFormats), upright and within limits on their size. ReadEXIF reads what
// cameras note beside the picture. Package data/imaging/prepare makes of an Image what networks take.
package imaging
