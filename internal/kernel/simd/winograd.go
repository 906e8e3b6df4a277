package simd

// Winograd holds the transforms of the convolution F(2x2, 3x3) (Lavin and Gray
// 2016): a patch of 4 x 4 input pixels and a filter of 3 x 3 taps become 16
// values each, whose products, summed over channels, become 2 x 2 output pixels:
//
//	Y = A' [(G g G') * (B' d B)] A
//
// That is 16 multiplications for 36. Patches are two pixels apart. Channels come
// in multiples of 16. There are kernels for AVX-512 only, whose registers they
// need; HasWinograd says whether they are there, and they panic if not.
//
// The 16 values of a patch or filter lie spread apart, so that each of the 16
// forms a matrix with those of other patches.

// HasWinograd reports whether the transforms have kernels at the active level.
func HasWinograd() bool { return active >= AVX512 }

// WinogradFilters transforms len(src)/9 filters that lie side by side, tap after
// tap, to dst, value after value.
func WinogradFilters(dst, src []float32) {
	n := len(src) / 9
	if n == 0 {
		return
	}
	_ = dst[16*n-1]
	winoFilter(n/16, 4*n, 4*n, &src[0], &dst[0])
}

// WinogradInput transforms n patches of a row of them. src holds pixels of c
// channels in lines of width values; value k of patch i goes to
// dst[k*spread+i*(c+pad):].
func WinogradInput(dst, src []float32, n, c, width, pad, spread int) {
	_, _ = src[3*width+(2*n+2)*c-1], dst[15*spread+n*(c+pad)-pad-1]
	winoInput(n, 4*c, 4*width, 4*pad, 4*spread, &src[0], &dst[0])
}

// WinogradOutput makes two lines of 2n pixels of c channels, one after the
// other, from n patches: value k of patch i is at src[k*spread+i*c:].
func WinogradOutput(dst, src []float32, n, c, spread int) {
	_, _ = dst[4*n*c-1], src[15*spread+n*c-1]
	winoOutput(n, 4*c, 4*spread, 8*n*c, &src[0], &dst[0])
}
