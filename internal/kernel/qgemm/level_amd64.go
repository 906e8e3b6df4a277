//go:build !noasm

package qgemm

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// depthUnit is the number of channels that unit computes.
const depthUnit = 32

func detect() (levels []Level) {
	if !cpuid.CPU.Supports(cpuid.AVX2) {
		return nil
	}
	levels = []Level{AVX2}
	if cpuid.CPU.Supports(cpuid.AVXVNNI) {
		levels = append(levels, AVXVNNI)
	}
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512VNNI,
		cpuid.BMI2) {
		levels = append(levels, VNNI)
	}
	return levels
}

func (t *Tile) pointer() *byte      { return (*byte)(unsafe.Pointer(t)) }
func (d *Depthwise) pointer() *byte { return (*byte)(unsafe.Pointer(d)) }

func (t *Tile) whole() { tileVNNI(t.pointer()) }

func (*Tile) prepare() {}

func (t *Tile) blockSums(level Level) {
	if level == AVXVNNI {
		sumsAVXVNNI(t.pointer())
		return
	}
	sumsAVX2(t.pointer())
}

func (t *Tile) storeEights() { storeAVX2(t.pointer()) }

func quantizeVector(dst []uint8, src []float32, scale, shift float32) int {
	if Active() == VNNI {
		quantizeAVX512(&dst[0], &src[0], len(src), scale, shift)
		return len(src)
	}
	n := len(src) &^ 7
	if n > 0 {
		quantizeAVX2(&dst[0], &src[0], n, scale, shift)
	}
	return n
}

func dequantizeVector(dst []float32, src []uint8, zero int32, scale float32) int {
	if Active() == VNNI {
		dequantizeAVX512(&dst[0], &src[0], len(src), zero, scale)
		return len(src)
	}
	n := len(src) &^ 7
	if n > 0 {
		dequantizeAVX2(&dst[0], &src[0], n, zero, scale)
	}
	return n
}

func (w *Windows) vector(dst, src []uint8) int {
	if Active() == VNNI {
		largestAVX512(&dst[0], &src[0], (*byte)(unsafe.Pointer(w)), w.Channels)
		return w.Channels
	}
	n := w.Channels &^ 31
	if n > 0 {
		largestAVX2(&dst[0], &src[0], (*byte)(unsafe.Pointer(w)), n)
	}
	return n
}

func columnSumsVector(dst []int32, src []uint8, rows int) int {
	if Active() == VNNI {
		columnSumsAVX512(&dst[0], &src[0], rows, len(dst))
		return len(dst)
	}
	n := len(dst) &^ 7
	if n > 0 {
		columnSumsAVX2(&dst[0], &src[0], rows, len(dst), n)
	}
	return n
}

func (d *Depthwise) whole() { depthwiseVNNI(d.pointer()) }

// unit computes depthUnit channels of a block.
func (d *Depthwise) unit(level Level) {
	if level == AVXVNNI {
		depthwise32AVXVNNI(d.pointer())
		return
	}
	depthwise32AVX2(d.pointer())
}

// eight computes eight channels of a block.
func (d *Depthwise) eight(level Level) {
	if level == AVXVNNI {
		depthwise8AVXVNNI(d.pointer())
		return
	}
	depthwise8AVX2(d.pointer())
}
