// Package rows caches rows of numbers in a file, each under the digest of its
// input, so that costly results are not computed twice.
//
// A file is a cache: if anything is wrong with it, its rows are computed again.
// It is a safetensors file with two tensors, sorted by key,
//
//	key  U8   n x 32
//	row  F32  n x dim
//
// and with the metadata
//
//	format  kindred-rows-1
//	of      hex: what computed the rows
//	sum     hex: SHA-256 of of and of both tensors' bytes
//
// Save adds rows to those in the file at that time and replaces it by a rename,
// so that several processes always read whole files. Rows that one process adds
// between the reading and the renaming of another are lost, and computed again.
package rows
