//go:build !noasm

package qgemm

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// depthUnit is the number of channels that unit computes.
const depthUnit = 16

func detect() []Level {
	if cpuid.CPU.Supports(cpuid.ASIMDDP) {
		return []Level{SDOT}
	}
	return nil
}

func (t *Tile) pointer() *byte      { return (*byte)(unsafe.Pointer(t)) }
func (d *Depthwise) pointer() *byte { return (*byte)(unsafe.Pointer(d)) }

func (*Tile) whole()      { panic("qgemm: no level for whole tiles") }
func (*Depthwise) whole() { panic("qgemm: no level for whole rows") }

func (t *Tile) prepare()         { liftSDOT(t.pointer()) }
func (t *Tile) blockSums(Level)  { sumsSDOT(t.pointer()) }
func (t *Tile) storeEights()     { storeNEON(t.pointer()) }
func (d *Depthwise) unit(Level)  { depthwise16SDOT(d.pointer()) }
func (d *Depthwise) eight(Level) { depthwise8SDOT(d.pointer()) }

func quantizeVector(dst []uint8, src []float32, scale, shift float32) int {
	n := len(src) / 8
	if n > 0 {
		quantizeNEON(&dst[0], &src[0], n, scale, shift)
	}
	return 8 * n
}

func dequantizeVector(dst []float32, src []uint8, zero int32, scale float32) int {
	n := len(src) / 8
	if n > 0 {
		dequantizeNEON(&dst[0], &src[0], n, zero, scale)
	}
	return 8 * n
}

func (w *Windows) vector(dst, src []uint8) int {
	n := w.Channels &^ 15
	if n > 0 {
		largestNEON(&dst[0], &src[0], (*byte)(unsafe.Pointer(w)), n)
	}
	return n
}

func columnSumsVector(dst []int32, src []uint8, rows int) int {
	n := len(dst) / 8
	if n > 0 {
		columnSumsNEON(&dst[0], &src[0], rows, len(dst), n)
	}
	return 8 * n
}
