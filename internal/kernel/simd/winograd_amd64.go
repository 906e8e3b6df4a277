//go:build !noasm

package simd

func winoFilter(n, tap, to int, src, dst *float32) {
	winoFilterAVX512(n, tap, to, src, dst)
}

func winoInput(n, c, row, pad, to int, src, dst *float32) {
	winoInputAVX512(n, c, row, pad, to, src, dst)
}

func winoGradient(n, c, row, pad, to int, src, dst *float32) {
	winoGradientAVX512(n, c, row, pad, to, src, dst)
}

func winoOutput(n, c, from, row int, src, dst *float32) {
	winoOutputAVX512(n, c, from, row, src, dst)
}
