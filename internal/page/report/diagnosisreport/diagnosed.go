// Package diagnosisreport lays out diagnoses of eval as sections of a page.
package diagnosisreport

import (
	"fmt"
	"strconv"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// NewDiagnosis lays out one diagnosis under the model's name.
func NewDiagnosis(name string, r *eval.Diagnosis) Diagnosis {
	d := Diagnosis{Name: name, Verdict: r.Verdict.Text, Reasons: r.Verdict.Reasons, Measures: r.Measures()}
	d.About = fmt.Sprintf("%d items of %d classes in %d dimensions, %s distance", r.Rows, len(r.Classes), r.Dim,
		r.Distance)
	switch r.Verdict.State {
	case eval.Structured:
		d.Tone = report.Good
	case eval.Collapsed:
		d.Tone = report.Bad
	}
	d.Spectra = append(d.Spectra, NamedValues{Name: "all rows", Values: r.Spectrum.Values})
	for _, c := range r.ByCompactness(len(r.Classes)) {
		class := c.Name
		if class == "" {
			class = strconv.FormatInt(c.Label, 10)
		}
		d.Classes = append(d.Classes, ClassDiagnosis{
			Name: class, Size: c.Size, Diameter: c.Diameter, Intra: c.Intra, Other: c.NearestDistance,
			Kinds: c.SubClasses, Rank: c.Spectrum.EffectiveRank, Recall: c.Recall,
		})
		// n centred rows span n - 1 directions; further singular values are rounding
		// errors.
		values := c.Spectrum.Values[:min(len(c.Spectrum.Values), max(c.Size-1, 0))]
		d.Spectra = append(d.Spectra, NamedValues{Name: "class " + class, Values: values})
	}
	t := &r.Triplets
	d.Triplets = []NamedTriplets{
		{Name: "nearest positive, nearest negative", AP: t.EasyPositive, AN: t.HardNegative},
		{Name: "farthest positive, nearest negative", AP: t.HardPositive, AN: t.HardNegative},
		{Name: "nearest positive, farthest negative", AP: t.EasyPositive, AN: t.EasyNegative},
	}
	for _, c := range r.Curve {
		d.Clusters = append(d.Clusters, float64(c.K))
		d.NMI = append(d.NMI, option.OrDefault(c.FineNMI, c.NMI))
	}
	return d
}
