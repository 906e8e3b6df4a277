package comparereport

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/sweep"
)

// newComparison compares three arms with given scores by seed.
func newComparison(t *testing.T, scores map[string][]float64) *sweep.Comparison {
	t.Helper()
	p, err := sweep.ParseComparison("plan.yaml", []byte(fmt.Sprintf(`
set: {data.name: rows, train.epochs: 1}
arms: [{name: "50%% <b>"}, {name: MS}, {name: arc_face}]
seeds: %d
`, len(scores["ms"]))))
	if err != nil {
		t.Fatal(err)
	}
	c, err := sweep.Compare(t.Context(), p, sweep.Options{Dir: t.TempDir(), Runner: sweep.RunnerFunc(
		func(_ context.Context, j sweep.Job) (sweep.Result, error) {
			arm, seed, _ := strings.Cut(j.Name, "/seed")
			var k int
			if _, err := fmt.Sscan(seed, &k); err != nil {
				return sweep.Result{}, err
			}
			return sweep.Result{Metrics: map[string]float64{j.Metric: scores[arm][k-1], "test_nmi": 0.5}}, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func joinWords(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestWrite: the numbers are those of scipy 1.10.1 (stats.ttest_rel, std with ddof=1), as in the tests of package
// sweep.
func TestWrite(t *testing.T) {
	c := newComparison(t, map[string][]float64{"50---b-": {0.611, 0.624, 0.598}, "ms": {0.587, 0.601, 0.589},
		"arc-face": {0.604, 0.619, 0.601}})
	dir := t.TempDir()
	if err := Write(c, dir, "kindred compare plan.yaml --out x"); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(text) == 0 {
			t.Fatal(name, err)
		}
		return string(text)
	}
	for _, name := range Files {
		read(name)
	}
	tex := read("compare.tex")
	for _, want := range []string{`50\% $<$b$>$ & 61.1 $\pm$ 1.3 & 0.5000 $\pm$ 0.0000 \\`,
		`MS & 50\% $<$b$>$ & $-$1.9 $\pm$ 0.8 & 0.0612 & 0.1223 & 5 & undecided \\`,
		`arc\_face & MS & +1.6 $\pm$ 0.3 & 0.0137 & 0.0412 &  & arc\_face is ahead \\`} {
		if !strings.Contains(tex, want) {
			t.Errorf("LaTeX lacks %s:\n%s", want, tex)
		}
	}
	if strings.Contains(tex, "textbf") {
		t.Error("an arm is marked that is not ahead of all")
	}
	rows, err := csv.NewReader(strings.NewReader(read("tests.csv"))).ReadAll()
	if err != nil || len(rows) != 4 || strings.Join(rows[3], ",") != "arc_face,MS,test_recall@1,0.01566666666666668,"+
		"0.0032145502536643214,3,"+formatExact(*c.Tests[2].P)+","+formatExact(*c.Tests[2].Corrected)+",ahead," {
		t.Errorf("%q, %v", rows, err)
	}
	rows, err = csv.NewReader(strings.NewReader(read("scores.csv"))).ReadAll()
	if err != nil || len(rows) != 1+3*3*2 || strings.Join(rows[2], ",") != "50% <b>,1,test_recall@1,0.611" {
		t.Errorf("%q, %v", rows, err)
	}
	page := strings.ReplaceAll(read("report.html"), "\u00a0", " ")
	for _, want := range []string{"1 of 3 differences are decided.", "MS and 50% &lt;b&gt;: undecided: about 5 seeds",
		"+1.6 ± 0.3", "60.4"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<b>") {
		t.Error("a name is markup")
	}
}

// TestBest: an arm is marked if it is ahead of each other one, and the text of the table says why none is.
func TestBest(t *testing.T) {
	c := newComparison(t, map[string][]float64{"50---b-": {0.5, 0.51, 0.49, 0.5}, "ms": {0.701, 0.712, 0.688, 0.702},
		"arc-face": {0.4, 0.41, 0.4, 0.39}})
	if got := ScoreTable(c).LaTeX(); !strings.Contains(got, `MS & \textbf{70.1 $\pm$ 1.0}`) || strings.Count(got,
		"textbf") != 1 {
		t.Error(got)
	}
	page, err := Page(c, "").HTML()
	if err != nil || !strings.Contains(string(page), "MS is ahead of each other arm.") {
		t.Error(err)
	}
	one := newComparison(t, map[string][]float64{"50---b-": {0.5}, "ms": {0.9}, "arc-face": {0.4}})
	if got := joinWords(TestTable(one).String()); !strings.Contains(got, "MS 50% <b> +40.0 3 undecided") {
		t.Error(got)
	}
	if got := ScoreTable(one).String(); strings.Contains(got, "*") || !strings.Contains(got, "One seed.") {
		t.Error(got)
	}
	if _, err := json.Marshal(one); err != nil {
		t.Error(err)
	}
}
