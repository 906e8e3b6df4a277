package report

import "math"

const (
	// loudSpectra is how many spectra stand in a legend; of more, all but the
	// first are drawn quietly.
	loudSpectra = 6
	// quietRanks is how many values of a quiet spectrum are drawn, evenly spaced
	// on the logarithmic axis.
	quietRanks = 24
)

// Spectrum returns the figure of singular values (or any decaying values)
// against their rank from 1, both axes logarithmic, one curve per name. Values
// <= 0 cannot be shown there and are left out. Where there are many curves the
// first stands out, and the others are found by pointing at them.
func Spectrum(a Axes, names []string, values [][]float64) Lines {
	a.LogX, a.LogY = true, true
	l := Lines{Axes: a, Marks: true}
	for i, v := range values {
		c := Curve{Quiet: i > 0 && len(values) > loudSpectra}
		if i < len(names) {
			c.Name = names[i]
		}
		for j := range v {
			if c.Quiet && !drawnRank(j+1, len(v)) {
				continue
			}
			c.X, c.Y = append(c.X, float64(j+1)), append(c.Y, v[j])
		}
		l.Curves = append(l.Curves, c)
	}
	return l
}

// drawnRank says whether a rank is among the about quietRanks drawn of n.
func drawnRank(rank, n int) bool {
	if n <= quietRanks || rank == 1 || rank == n {
		return true
	}
	at := func(r int) int { return int(math.Log(float64(r)) / math.Log(float64(n)) * quietRanks) }
	return at(rank) != at(rank-1)
}
