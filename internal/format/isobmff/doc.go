// Package isobmff reads the structure of HEIF files, which are HEIC and AVIF: which items a file holds, how large and
// how turned its picture is, and where its EXIF data are. It decodes no pictures.
//
// The format is boxes in boxes (ISO/IEC 14496-12), and items with properties in the box meta (ISO/IEC 23008-12).
package isobmff
