//go:build !linux || !amd64 || noasm

package amx

func requestPermission() bool { return false }
