//go:build !amd64 || noasm

package pix

func widen(dst, near, far *uint8, blocks int) bool { return false }

func rgb(dst, y, cb, cr *uint8, blocks int) bool { return false }
