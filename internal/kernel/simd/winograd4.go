package simd

// Winograd4 holds the transforms of the convolution F(4x4, 3x3): a patch of 6 x 6 input
// pixels and a filter of 3 x 3 taps become 36 values each, whose products, summed over
// channels, become 4 x 4 output pixels:
//
//	Y = A' [(G g G') * (B' d B)] A
//
// That is 36 multiplications for 144. The points are 0, ±5/8, ±3/2 and infinity: the
// error of these is twice that of F(2x2, 3x3) and half that of the usual 0, ±1, ±2.
// Patches are four pixels apart. Channels come in multiples of 16. There are kernels for
// AVX-512 only; HasWinograd4 says whether they are there, and they panic if not.

// HasWinograd4 reports whether the transforms have kernels at the active level.
func HasWinograd4() bool { return active == AVX512 }

// Winograd4Room is the number of values of tmp that the transforms need. It is best
// aligned to 64 bytes.
const Winograd4Room = 36 * 16

// Winograd4Filters transforms len(src)/9 filters that lie side by side, tap after tap, to
// dst, value after value.
func Winograd4Filters(dst, src, tmp []float32) {
	n := len(src) / 9
	if n == 0 {
		return
	}
	_, _ = dst[36*n-1], tmp[Winograd4Room-1]
	wino4Filter(n/16, 4*n, 4*n, &src[0], &dst[0], &tmp[0])
}

// Winograd4Input transforms n patches of a row of them. src holds pixels of c channels in
// lines of width values; value k of patch i goes to dst[k*spread+i*(c+pad):].
func Winograd4Input(dst, src []float32, n, c, width, pad, spread int, tmp []float32) {
	_, _, _ = src[5*width+(4*n+2)*c-1], dst[35*spread+n*(c+pad)-pad-1], tmp[Winograd4Room-1]
	wino4Input(n, 4*c, 4*width, 4*pad, 4*spread, &src[0], &dst[0], &tmp[0])
}

// Winograd4Output makes four lines of 4n pixels of c channels, one after the other, from n
// patches: value k of patch i is at src[k*spread+i*c:].
func Winograd4Output(dst, src []float32, n, c, spread int, tmp []float32) {
	_, _, _ = dst[16*n*c-1], src[35*spread+n*c-1], tmp[Winograd4Room-1]
	wino4Output(n, 4*c, 4*spread, 16*n*c, &src[0], &dst[0], &tmp[0])
}
