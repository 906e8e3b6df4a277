//go:build (!amd64 && !arm64) || noasm

package simd

func detect() Level { return Generic }

func detectFamily() Family { return Common }
