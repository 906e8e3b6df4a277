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

func wino4Filter(n, tap, to int, src, dst, tmp *float32) {
	wino4FilterAVX512(n, tap, to, src, dst, tmp)
}

func wino4Input(n, c, row, pad, to int, src, dst, tmp *float32) {
	wino4InputAVX512(n, c, row, pad, to, src, dst, tmp)
}

func wino4Output(n, c, from, row int, src, dst, tmp *float32) {
	wino4OutputAVX512(n, c, from, row, src, dst, tmp)
}
