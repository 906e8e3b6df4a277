package report

// Spectrum returns the figure of singular values (or any decaying values)
// against their rank from 1, both axes logarithmic, one curve per name. Values
// <= 0 cannot be shown there and are left out.
func Spectrum(a Axes, names []string, values [][]float64) Lines {
	a.LogX, a.LogY = true, true
	l := Lines{Axes: a, Marks: true}
	for i, v := range values {
		c := Curve{Y: v, X: make([]float64, len(v))}
		if i < len(names) {
			c.Name = names[i]
		}
		for j := range v {
			c.X[j] = float64(j + 1)
		}
		l.Curves = append(l.Curves, c)
	}
	return l
}
