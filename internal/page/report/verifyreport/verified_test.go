package verifyreport

import (
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// newLineSet makes five rows of two classes on a line.
func newLineSet(v ...float32) eval.Set {
	return eval.Set{X: matrix.FromSlice(len(v), 1, v), Labels: [][]int64{{1, 1, 2, 2, 2}}}
}

func TestPage(t *testing.T) {
	for name, s := range map[string]eval.Set{
		"overlapping": newLineSet(0, 1, 0.5, 3, 4), "apart": newLineSet(0, 1, 9, 10, 10.5),
		"one point": newLineSet(1, 1, 1, 1, 1),
	} {
		metrics, err := eval.ParseMetrics("recall@1,eer,fnmr@fmr=0.01,auc")
		if err != nil {
			t.Fatal(err)
		}
		rep, err := eval.Evaluate(t.Context(), s, nil, eval.Config{Metrics: metrics, Bootstrap: 20,
			Columns: []string{"thing <b>"}})
		if err != nil {
			t.Fatal(err)
		}
		page, ok := Page(rep, "kindred eval")
		if !ok {
			t.Fatalf("%s: no page", name)
		}
		html, err := page.HTML()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{"fnmr@fmr=0.01", "DET", "ROC", "4 genuine and 6 impostor pairs",
			"of 20 resamples of classes", "thing &lt;b&gt;"} {
			if !strings.Contains(string(html), want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
		if strings.Contains(string(html), "NaN") {
			t.Errorf("%s: NaN", name)
		}
	}
}

// Reports without decisions have no page.
func TestNoPage(t *testing.T) {
	metrics, err := eval.ParseMetrics("recall@1,nmi")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := eval.Evaluate(t.Context(), newLineSet(0, 1, 2, 3, 4), nil, eval.Config{Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := Page(rep, ""); ok {
		t.Error("a page about nothing")
	}
}

// The curves of the distances are shares that add up to 1, whatever the range.
func TestDistances(t *testing.T) {
	for _, c := range [][2][]float64{
		{{0, 1, 2}, {1, 5, 9, 9}}, {{3}, {3}}, {{-4, -2}, {1e-9, 1e9}}, {{1e-300, 0}, {2e-300}},
	} {
		counts, err := eval.NewCounts(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range distanceFigure(counts).Curves {
			var sum float64
			for i, y := range k.Y {
				sum += y
				if math.IsNaN(k.X[i]) || i > 0 && k.X[i] < k.X[i-1] {
					t.Errorf("%v: at %v", c, k.X[i])
				}
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("%v: the shares of %s add up to %v", c, k.Name, sum)
			}
		}
	}
}
