//go:build !amd64 || noasm

package bf16

func detect() Level { return Generic }
