//go:build !amd64 || noasm

package amx

func hasTiles() bool { return false }

func hasInt8() bool { return false }

func hasBFloat16() bool { return false }
