//go:build !linux && !noasm

package bf16

func permitted() bool { return false }
