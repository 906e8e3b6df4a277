package figure

import "math"

const (
	// loudSpectra is the largest number of spectra in a legend. With more spectra, all
	// except the first are drawn quietly.
	loudSpectra = 6
	// quietRanks is the number of values of a quiet spectrum that are drawn, evenly
	// spaced on the logarithmic axis.
	quietRanks = 24
)

// Spectrum returns the figure of singular values (or any decaying values)
// against their rank from 1, with logarithmic axes and one curve per name. Values
// <= 0 are left out. Of many curves the first stands out; a reader finds the others
// by pointing at them.
func Spectrum(a Axes, names []string, values [][]float64) Lines {
	a.LogX, a.LogY = true, true
	l := Lines{Axes: a, Marks: true}
	for i, v := range values {
		c := Curve{Quiet: i > 0 && len(values) > loudSpectra}
		if i < len(names) {
			c.Name = names[i]
		}
		for j := range v {
			if c.Quiet && !isDrawnRank(j+1, len(v)) {
				continue
			}
			c.X, c.Y = append(c.X, float64(j+1)), append(c.Y, v[j])
		}
		l.Curves = append(l.Curves, c)
	}
	return l
}

// isDrawnRank reports whether a rank is one of the about quietRanks of n that are drawn.
func isDrawnRank(rank, n int) bool {
	if n <= quietRanks || rank == 1 || rank == n {
		return true
	}
	at := func(r int) int { return int(math.Log(float64(r)) / math.Log(float64(n)) * quietRanks) }
	return at(rank) != at(rank-1)
}
