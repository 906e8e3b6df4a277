//go:build !noasm

package simd

// winoFilter goes by 16 filters, the kernel by four.
func winoFilter(n, tap, to int, src, dst *float32) { winoFilterNEON(4*n, tap, to, src, dst) }

func winoInput(n, c, row, pad, to int, src, dst *float32) {
	winoInputNEON(n, c, row, pad, to, src, dst)
}

func winoGradient(n, c, row, pad, to int, src, dst *float32) {
	winoGradientNEON(n, c, row, pad, to, src, dst)
}

func winoOutput(n, c, from, row int, src, dst *float32) {
	winoOutputNEON(n, c, from, row, src, dst)
}
