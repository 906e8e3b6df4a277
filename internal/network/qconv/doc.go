// Package qconv holds the convolutions of networks that are evaluated in 8 bits:
// channels-last bytes, filters of signed bytes with a scale for each output channel, and
// sums of 32 bits, as package qgemm has them.
//
// In: a convolution's shape and float32 filters, what the bytes of its input and output
// mean, and the affine map, residual and rectifier that follow it. Out: bytes, or
// float32 where what reads the output takes no bytes. An input of float32 is quantised
// on its way in.
package qconv
