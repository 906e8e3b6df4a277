// Package rows keeps rows of numbers in a file, each under the digest of what it
// was computed from, so that what took long is not computed twice.
//
// A file is a cache: whatever is wrong with it, what it held is computed again.
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
// Save adds to what the file holds by then and replaces it by a rename, so that
// of several processes at once each reads whole files; rows that one of them adds
// between the other's reading and its renaming are lost, and computed again.
package rows
