//go:build !amd64 || noasm

package simd

func (d *DepthwiseBand) run() bool { return false }
