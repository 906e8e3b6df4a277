package dot16

import "fmt"

// CountRow counts the scores above hi. Of those that are not, bit j%16 of open[j/16]
// tells whether v[j] is at least lo, and left whether any is. The number of scores
// must be a multiple of 16.
func CountRow(v []float32, lo, hi float32, open []uint32) (above int, left bool) {
	if len(v)%16 != 0 || len(open) != len(v)/16 {
		panic(fmt.Sprintf("dot16: %d scores to count, %d words", len(v), len(open)))
	}
	if len(v) == 0 {
		return 0, false
	}
	return countRow(v, lo, hi, open)
}

// countRowGeneric is what CountRow means.
func countRowGeneric(v []float32, lo, hi float32, open []uint32) (above int, left bool) {
	clear(open)
	for j, s := range v {
		switch {
		case s > hi:
			above++
		case s >= lo:
			open[j/16] |= 1 << (j % 16)
			left = true
		}
	}
	return above, left
}

// CountColumns is CountRow for v - less, with bounds of each column's own: above[j]
// becomes 1 more where the score is above hi[j].
func CountColumns(above []int32, v []float32, less float32, lo, hi []float32, open []uint32) (left bool) {
	if n := len(v); n%16 != 0 || len(open) != n/16 || len(above) != n || len(lo) != n || len(hi) != n {
		panic(fmt.Sprintf("dot16: %d scores to count for %d columns, %d words", n, len(above), len(open)))
	}
	return len(v) > 0 && countColumns(above, v, less, lo, hi, open)
}

// countColumnsGeneric is what CountColumns means.
func countColumnsGeneric(above []int32, v []float32, less float32, lo, hi []float32, open []uint32) (left bool) {
	clear(open)
	for j, s := range v {
		switch s -= less; {
		case s > hi[j]:
			above[j]++
		case s >= lo[j]:
			open[j/16] |= 1 << (j % 16)
			left = true
		}
	}
	return left
}
