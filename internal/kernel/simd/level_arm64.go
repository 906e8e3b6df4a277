//go:build !noasm

package simd

// detect goes without asking: Go itself needs these instructions.
func detect() Level { return NEON }

func detectFamily() Family { return Common }
