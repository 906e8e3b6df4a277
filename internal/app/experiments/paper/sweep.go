package paper

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// sweep draws every measure of the figure against the number that differs between the arms: a curve
// with a band for each series.
func (out *Outcome) sweep() report.Figures {
	fs := report.Figures{Caption: out.e.Sweep.Caption + " " + out.describeSeeds()}
	for k, m := range out.e.Measures {
		if of := out.e.Sweep.Measures; of != nil && !slices.Contains(of, m.Key) {
			continue
		}
		f := figure.Lines{Axes: figure.Axes{Title: m.Group, X: out.e.Sweep.X, Y: m.Name + ", %"}, Marks: true}
		var names []string
		for _, a := range out.e.Arms {
			if a.Series != "" && !slices.Contains(names, a.Series) {
				names = append(names, a.Series)
			}
		}
		for _, name := range names {
			c := figure.Curve{Name: name}
			for i, a := range out.e.Arms {
				if a.Series != name {
					continue
				}
				v := out.Arms[i].Measures[k]
				c.X, c.Y = append(c.X, a.At), append(c.Y, float64(v.Mean))
				if v.N > 1 {
					c.Low, c.High = append(c.Low, float64(v.Mean-v.Std)), append(c.High, float64(v.Mean+v.Std))
				}
			}
			f.Curves = append(f.Curves, c)
		}
		for i, a := range out.e.Arms {
			if a.Series == "" {
				f.Refs = append(f.Refs, figure.Ref{Name: a.Name, At: float64(out.Arms[i].Measures[k].Mean)})
			}
		}
		fs.Items = append(fs.Items, report.Captioned{Figure: f})
	}
	return fs
}
