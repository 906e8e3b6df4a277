package diagnosisreport

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/page/report"
)

func TestDiagnosisSections(t *testing.T) {
	full := Diagnosis{
		Name: "a", Verdict: "fine", Reasons: []string{"because"}, Tone: report.Good,
		Measures: []eval.DiagnosisMeasure{{Name: "m", Value: 2, Structure: 1, Meaning: "it says"}, {Name: "only a",
			Value: 1}},
		Spectra:  []NamedValues{{"all", []float64{3, 1}}},
		Triplets: []NamedTriplets{{"easy", []float64{0.5, 1.7}, []float64{0.1, math.NaN()}}},
		Clusters: []float64{10, 20}, NMI: []float64{0.5, 0.6},
	}
	for i := range 40 {
		full.Classes = append(full.Classes,
			ClassDiagnosis{Name: fmt.Sprintf("class-%02d", i), Size: 3, Intra: 1, Other: float64(i)})
	}
	full.Classes = append(full.Classes, ClassDiagnosis{Name: "equal points"}) // 0/0
	b := Diagnosis{Name: "b", About: "7 items of 2 classes", Measures: []eval.DiagnosisMeasure{{Name: "m", Value: 3}}}
	html, err := report.Page{Sections: Sections(full, b)}.HTML()
	if err != nil {
		t.Fatal(err)
	}
	s := string(html)
	for _, want := range []string{"a: fine", "because", "it says", "only a", ">class-00<", ">class-39<",
		`class="num best" data-v="3">3<`, "7 items of 2 classes"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if i, j := strings.Index(s, ">class-00<"), strings.Index(s, ">class-05<"); i > j {
		t.Error("classes are not listed worst first")
	}
	if got := len(Sections(Diagnosis{Name: "nothing"})); got != 0 {
		t.Errorf("a diagnosis without content has %d sections", got)
	}
}
