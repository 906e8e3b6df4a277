package simd

// Winograd holds the transforms of the convolution F(2x2, 3x3) (Lavin and Gray
// 2016): a patch of 4 x 4 input pixels and a filter of 3 x 3 taps become 16
// values each, whose products, summed over channels, become 2 x 2 output pixels:
//
//	Y = A' [(G g G') * (B' d B)] A
//
// and of the output's gradient dY the filter's is
//
//	dg = G' [(A dY A') * (B' d B)] G
//
// summed over patches. That is 16 multiplications for 36. Patches are two pixels apart. Channels come
// in multiples of 16. There are kernels for AVX-512 and NEON, whose 32 registers
// they need; HasWinograd says whether they are there, and they panic if not.
//
// The 16 values of a patch or filter lie spread apart, so that each of the 16
// forms a matrix with those of other patches.

// HasWinograd reports whether the transforms have kernels at the active level.
func HasWinograd() bool { return active == AVX512 || active == NEON }

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

// WinogradGradient transforms n patches of a row of them, of 2 x 2 pixels of c
// channels in lines of width values: value k of patch i goes to
// dst[k*spread+i*(c+pad):].
func WinogradGradient(dst, src []float32, n, c, width, pad, spread int) {
	_, _ = src[width+2*n*c-1], dst[15*spread+n*(c+pad)-pad-1]
	winoGradient(n, 4*c, 4*width, 4*pad, 4*spread, &src[0], &dst[0])
}

// WinogradTaps makes the nine taps of filters' gradients from their 16 values:
// value k of n of them is at m[k*n:], and tap t then at m[taps[t]*n:]. What m held
// is lost.
func WinogradTaps(m []float32) (taps [9]int) {
	n := len(m) / 16
	// contract takes four values to three, which lie in the places of a, b and d.
	contract := func(a, b, c, d int) {
		at := func(i int) []float32 { return m[i*n : (i+1)*n] }
		Scale(at(b), 0.5, at(b))
		Scale(at(c), 0.5, at(c))
		for _, end := range [2]int{a, d} {
			Axpy(1, at(b), at(end))
			Axpy(1, at(c), at(end))
		}
		Axpy(-1, at(c), at(b))
	}
	for j := range 4 {
		contract(j, 4+j, 8+j, 12+j)
	}
	for t, i := range [3]int{0, 4, 12} {
		contract(i, i+1, i+2, i+3)
		taps[3*t], taps[3*t+1], taps[3*t+2] = i, i+1, i+3
	}
	return taps
}

// WinogradOutput makes two lines of 2n pixels of c channels, one after the
// other, from n patches: value k of patch i is at src[k*spread+i*c:].
func WinogradOutput(dst, src []float32, n, c, spread int) {
	_, _ = dst[4*n*c-1], src[15*spread+n*c-1]
	winoOutput(n, 4*c, 4*spread, 8*n*c, &src[0], &dst[0])
}

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
