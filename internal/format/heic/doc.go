// Package heic decodes HEIC pictures by a decoder that is not part of the program: a WebAssembly module in a file.
//
// HEIC pictures are frames of HEVC video. The decoder, libheif with libde265, has the licence LGPL-3.0, and patents
// on HEVC are in force in several countries. So who wants to read HEIC fetches the decoder; it runs in the sandbox
// of package wasm, as the other decoders do. A version of one's own may take its place.
//
// Cameras store a picture as a grid of tiles. They are decoded one after the other, so that a picture can be reduced
// without ever being in memory whole.
package heic
