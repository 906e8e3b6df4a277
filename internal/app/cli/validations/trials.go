// Package validations prints the measurements of kindred calibrate --trials and --check: promises kept or
// broken on classes that a calibration has not seen, and photos that differ from its own.
package validations

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
)

// statistics is a value over trials.
type statistics struct {
	sum, largest, smallest float64
	n, broken              int
	refused                string
}

// collect collects a value of every trial. A value above rate breaks the promise.
func collect(trials []*decide.Validation, rate float64, value func(t *decide.Validation) (float64, string)) statistics {
	m := statistics{largest: math.Inf(-1), smallest: math.Inf(1)}
	for _, t := range trials {
		v, refused := value(t)
		if refused != "" {
			m.refused = refused
			continue
		}
		m.sum, m.largest, m.smallest, m.n = m.sum+v, max(m.largest, v), min(m.smallest, v), m.n+1
		if v > rate {
			m.broken++
		}
	}
	return m
}

func (m *statistics) mean() float64 { return m.sum / float64(max(1, m.n)) }

// Write writes the table of promises and measurements, over one or more trials with the same rates.
func Write(out io.Writer, trials []*decide.Validation) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	first := trials[0]
	fmt.Fprintf(w, "%s, each on %d photos of %d other classes\n\n", enum.Count(len(trials), "trial"), first.Photos,
		first.Classes)
	fmt.Fprintf(w, "promised\tmeasured, mean\tmost\tbroken\tright\twithout a bound\tbroken\tof seen classes\n")
	for k, m := range first.Matches {
		ours := collect(trials, m.Rate, func(t *decide.Validation) (float64, string) {
			return t.Matches[k].FMR, t.Matches[k].RefusalReason
		})
		right := collect(trials, 1, func(t *decide.Validation) (float64, string) { return t.Matches[k].TMR, "" })
		plain := collect(trials, m.Rate, func(t *decide.Validation) (float64,
			string) {
			return t.Matches[k].UnboundedFMR, ""
		})
		fmt.Fprintf(w, "false matches %g\t", m.Rate)
		if ours.refused != "" {
			fmt.Fprintf(w, "refused\t\t\t\t%.2g\t%d", plain.mean(), plain.broken)
		} else {
			fmt.Fprintf(w, "%.2g\t%.2g\t%d\t%.3f\t%.2g\t%d", ours.mean(), ours.largest, ours.broken, right.mean(),
				plain.mean(), plain.broken)
		}
		if m.SeenFMR != nil {
			seen := collect(trials, m.Rate, func(t *decide.Validation) (float64,
				string) {
				return *t.Matches[k].SeenFMR, ""
			})
			fmt.Fprintf(w, "\t%.2g", seen.mean())
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\t\t\t\t\tone distance for all galleries\n")
	for k, o := range first.OpenSets {
		ours := collect(trials, o.Rate, func(t *decide.Validation) (float64, string) {
			return t.OpenSets[k].FPIR, t.OpenSets[k].RefusalReason
		})
		right := collect(trials, 1, func(t *decide.Validation) (float64, string) { return t.OpenSets[k].TPIR, "" })
		one := collect(trials, o.Rate, func(t *decide.Validation) (float64,
			string) {
			return t.OpenSets[k].ConstantFPIR, ""
		})
		fmt.Fprintf(w, "unknown photos %g among %d\t", o.Rate, o.Gallery)
		if ours.refused != "" {
			fmt.Fprintf(w, "refused\t\t\t\t%.3f\t%d\n", one.mean(), one.broken)
			continue
		}
		fmt.Fprintf(w, "%.3f\t%.3f\t%d\t%.3f\t%.3f\t%d\n", ours.mean(), ours.largest, ours.broken, right.mean(),
			one.mean(), one.broken)
	}
	for k, c := range first.Coverages {
		got := collect(trials, 1, func(t *decide.Validation) (float64, string) {
			return t.Coverages[k].Measured, t.Coverages[k].RefusalReason
		})
		size := collect(trials, 1, func(t *decide.Validation) (float64, string) { return t.Coverages[k].MeanSize, "" })
		if got.refused != "" {
			fmt.Fprintf(w, "coverage %g\t%s\n", c.Requested, escape.Text(got.refused))
			continue
		}
		fmt.Fprintf(w, "coverage %g\t%.3f\tleast %.3f\t\t%.1f classes in a set\n", c.Requested, got.mean(),
			got.smallest,
			size.mean())
	}
	writeByClass(w, trials)
	writeErrors(w, trials)
	refused := first.Refusals()
	slices.Sort(refused)
	for _, text := range slices.Compact(refused) {
		fmt.Fprintln(w, escape.Text(text))
	}
	return w.Flush()
}

// writeByClass writes the coverage of sets with one distance for all classes, and with a distance of
// its own for each class with enough photos.
func writeByClass(w io.Writer, trials []*decide.Validation) {
	fmt.Fprintf(w, "\ncoverage\ton average\tat least, in nine of ten classes\tclasses in a set\tby their own photos\n")
	for k, c := range trials[0].Coverages {
		mean := func(of func(c *decide.Coverage) float64) float64 {
			m := collect(trials, math.Inf(1), func(t *decide.Validation) (float64, string) {
				if t.Coverages[k].ByClass == nil {
					return 0, "refused"
				}
				return of(&t.Coverages[k]), ""
			})
			return m.mean()
		}
		if c.ByClass == nil {
			continue
		}
		fmt.Fprintf(w, "%g, one distance\t%.3f\t%.3f\t%.1f\t\n", c.Requested,
			mean(func(c *decide.Coverage) float64 { return c.Measured }),
			mean(func(c *decide.Coverage) float64 { return c.LowestDecile }),
			mean(func(c *decide.Coverage) float64 { return c.MeanSize }))
		fmt.Fprintf(w, "%g, by class\t%.3f\t%.3f\t%.1f\t%s of classes\n", c.Requested,
			mean(func(c *decide.Coverage) float64 { return c.ByClass.Measured }),
			mean(func(c *decide.Coverage) float64 { return c.ByClass.LowestDecile }),
			mean(func(c *decide.Coverage) float64 { return c.ByClass.MeanSize }),
			decide.Percent(mean(func(c *decide.Coverage) float64 { return c.ByClass.OwnSpread })))
	}
}

// writeErrors writes the calibration errors of probabilities.
func writeErrors(w io.Writer, trials []*decide.Validation) {
	fmt.Fprintf(w, "\nerror of \"same\" (ECE)\tmean\tby chance\tdebiased\tmost\tall trials together\n")
	for _, of := range []struct {
		name string
		says func(t *decide.Validation) *decide.Reliability
	}{
		{"the calibration", func(t *decide.Validation) *decide.Reliability { return &t.Reliability }},
		{"Platt scaling", func(t *decide.Validation) *decide.Reliability { return &t.PlattReliability }},
		{"Platt scaling on seen classes",
			func(t *decide.Validation) *decide.Reliability { return t.SeenPlattReliability }},
	} {
		if of.says(trials[0]) == nil {
			continue
		}
		var all []decide.Reliability
		m := collect(trials, 1, func(t *decide.Validation) (float64, string) {
			all = append(all, *of.says(t))
			return of.says(t).ECE, ""
		})
		chance := collect(trials, 1, func(t *decide.Validation) (float64, string) { return of.says(t).Chance, "" })
		debiased := collect(trials, 1, func(t *decide.Validation) (float64, string) { return of.says(t).Debiased, "" })
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\n", of.name, m.mean(), chance.mean(), debiased.mean(),
			m.largest,
			decide.PooledECE(all))
	}
}

// WriteDrift writes how photos without labels differ from those of a calibration, with a verdict.
func WriteDrift(out io.Writer, d *decide.Drift) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d photos without labels, taken as %d classes, compared with %d classes of the calibration; "+
		"distances are to the photos of %d other classes\n\n", d.Photos, d.Classes, d.KnownClasses, d.ReferencePhotos)
	fmt.Fprintf(w, "\tnew photos\tcalibration\n")
	fmt.Fprintf(w, "median distance of the nearest\t%.4g\t%.4g\n", d.MedianNearest, d.KnownMedianNearest)
	for _, m := range d.Matches {
		if m.RefusalReason != "" {
			fmt.Fprintf(w, "false matches %g\t%s\n", m.Rate, escape.Text(m.RefusalReason))
			continue
		}
		fmt.Fprintf(w, "false matches %g\t%.2g\t%.2g\n", m.Rate, m.NewRate, m.KnownRate)
	}
	fmt.Fprintf(w, "\nlargest difference of shares (Kolmogorov and Smirnov)\t%.3f by the nearest, %.3f by the mean "+
		"distance\tp %.3f, over classes\n", d.Statistic, d.MeanStatistic, d.P)
	verdict := fmt.Sprintf("no difference was found: %d photos of %d classes show one of %.2f or more by the nearest "+
		"distance; distances within a class, and so the coverage of sets, were not tested", d.Photos, d.Classes,
		d.DetectableStatistic)
	if d.P <= 0.05 {
		verdict = "the photos differ from those of the calibration: calibrate on some of them, with labels"
	}
	fmt.Fprintln(w, verdict)
	return w.Flush()
}
