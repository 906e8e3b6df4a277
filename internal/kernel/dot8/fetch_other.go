//go:build !amd64 || noasm

package dot8

func fetch([]uint8) {}
