package diagnosisreport

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/matrix"
)

func TestDraw(t *testing.T) {
	// Two classes of two pairs each, far apart; the fine labels are the pairs.
	x := matrix.FromSlice(8, 1, []float32{0, 0.1, 1, 1.1, 20, 20.1, 21, 21.1})
	in := eval.DiagnosisInput{
		X: x, Labels: []int64{4, 4, 4, 4, 9, 9, 9, 9}, Fine: []int64{0, 0, 1, 1, 2, 2, 3, 3},
		Names: map[int64]string{4: "four"},
	}
	r, err := eval.Diagnose(t.Context(), in, eval.DiagnosisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := NewDiagnosis("model", r)
	if d.Name != "model" || d.Verdict != r.Verdict.Text || len(d.Measures) != len(r.Measures()) {
		t.Errorf("%+v", d)
	}
	var names []string
	for _, c := range d.Classes {
		names = append(names, c.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"9", "four"}) {
		t.Errorf("classes %v, want the name where there is one", names)
	}
	if len(d.Spectra) != 3 || len(d.Triplets) != 3 || len(d.Triplets[0].AP) != 8 {
		t.Errorf("%d spectra, %d kinds of triplets", len(d.Spectra), len(d.Triplets))
	}
	// With fine labels known the curve is theirs.
	for i, c := range r.Curve {
		if d.NMI[i] != option.OrDefault(c.FineNMI, 0) || d.Clusters[i] != float64(c.K) {
			t.Errorf("%d clusters: NMI %v, want %v", c.K, d.NMI[i], option.OrDefault(c.FineNMI, 0))
		}
	}
	for state, tone := range map[eval.CollapseState]report.Tone{eval.Structured: report.Good,
		eval.Collapsed: report.Bad, "": report.Neutral} {
		r.Verdict.State = state
		if d := NewDiagnosis("", r); d.Tone != tone {
			t.Errorf("%q has tone %v, want %v", state, d.Tone, tone)
		}
	}
}
