//go:build !linux || !amd64 || noasm

package amx

func permitted() bool { return false }
