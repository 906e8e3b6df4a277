package eval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestRunRefusesOddOptions(t *testing.T) {
	in := DiagnosisInput{X: matrix.FromSlice(4, 1, []float32{0, 1, 5, 6}), Labels: []int64{1, 1, 2, 2}}
	for name, c := range map[string]struct {
		in   DiagnosisInput
		opt  DiagnosisOptions
		want string
	}{
		"anchors":        {in, DiagnosisOptions{Anchors: -1}, "-1 anchors"},
		"per class":      {in, DiagnosisOptions{PerClass: -1}, "-1 rows of a class"},
		"one per class":  {in, DiagnosisOptions{PerClass: 1}, " 1 rows of a class"},
		"clusters":       {in, DiagnosisOptions{MaxK: -3}, "-3 clusters"},
		"margin":         {in, DiagnosisOptions{Margin: -0.1}, "margin -0.1"},
		"NaN margin":     {in, DiagnosisOptions{Margin: math.NaN()}, "margin NaN"},
		"endless margin": {in, DiagnosisOptions{Margin: math.Inf(1)}, "margin +Inf"},
		"distance":       {in, DiagnosisOptions{Distance: Distance(9)}, "Distance(9)"},
		"dot":            {in, DiagnosisOptions{Distance: Dot}, "not dot"},
		"no rows":        {DiagnosisInput{Labels: in.Labels}, DiagnosisOptions{}, "there are no query embeddings"},
		"labels":         {DiagnosisInput{X: in.X, Labels: in.Labels[:2]}, DiagnosisOptions{}, "2 query labels"},
		"fine labels": {DiagnosisInput{X: in.X, Labels: in.Labels, Fine: in.Labels[:3]}, DiagnosisOptions{},
			"3 query labels"},
		"one class": {DiagnosisInput{X: in.X, Labels: []int64{1, 1, 1, 1}}, DiagnosisOptions{},
			"at least two classes"},
		"singletons": {DiagnosisInput{X: in.X, Labels: []int64{1, 2, 3, 4}}, DiagnosisOptions{},
			"classes of at least two"},
	} {
		if _, err := Diagnose(t.Context(), c.in, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// The only classes of two rows lie on the same point: no ratio can be told, and
// no figure is infinite.
func TestClassesOnOnePoint(t *testing.T) {
	in := DiagnosisInput{X: matrix.FromSlice(5, 1, []float32{0, 0, 0, 0, 7}), Labels: []int64{1, 1, 2, 2, 3}}
	r, err := Diagnose(t.Context(), in, DiagnosisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "Inf") || strings.Contains(string(b), "NaN") {
		t.Errorf("%s", b)
	}
}

// One row beside a class of thousands, and an anchor whose drawn negatives are
// all of its own class: the shares are numbers.
func TestNoNegativeDrawn(t *testing.T) {
	n := activeNegatives + 500
	in := DiagnosisInput{X: matrix.New(n, 1), Labels: make([]int64, n)}
	for i := range n {
		in.X.Data[i] = float32(i % 100)
	}
	in.Labels[0] = 1
	for seed := range uint64(2) {
		r, err := Diagnose(t.Context(), in, DiagnosisOptions{Anchors: 1, PerClass: 20, MaxK: 1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Triplets.Violated; v-v != 0 {
			t.Fatalf("seed %d: violated %g", seed, v)
		}
	}
}
