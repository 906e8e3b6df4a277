// Package imaging turns image files into the float32 tensors that networks
// take: it decodes, resizes, augments and normalises.
//
// An Image is plain 8-bit pixels. Resize resamples with antialiasing. A
// Pipeline puts the steps together and writes one normalised sample; all its
// randomness comes from the generator that the caller passes in, so that the
// same generator state gives the same bits on any machine and with any number
// of workers.
package imaging
