//go:build !noasm

package dot16

func countRow(v []float32, lo, hi float32, open []uint32) (above int, left bool) {
	if !IsFast() {
		return countRowGeneric(v, lo, hi, open)
	}
	above, bits := countRowAVX512(&v[0], lo, hi, &open[0], len(open))
	return above, bits != 0
}

func countColumns(above []int32, v []float32, less float32, lo, hi []float32, open []uint32) (left bool) {
	if !IsFast() {
		return countColumnsGeneric(above, v, less, lo, hi, open)
	}
	return countColumnsAVX512(&above[0], &v[0], less, &lo[0], &hi[0], &open[0], len(open)) != 0
}
