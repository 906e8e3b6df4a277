package runs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/run"
)

// writeFolder writes a run's folder.
func writeFolder(t *testing.T, name, config, metrics string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"config.yaml": config, "metrics.csv": metrics} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const head = "epoch,steps,lr,loss,tuples,active,no_positive,test_recall@1,test_label_recall@1\n"

func configText(positives string, seed int) string {
	return fmt.Sprintf("data: {name: mnist, size: 28}\nmine:\n  positives: %s\ntrain: {epochs: 2, seed: %d}\neval: "+
		"{recall: [1, 5]}\n", positives, seed)
}

func TestLoad(t *testing.T) {
	r, err := Load(writeFolder(t, "a", configText("easy", 1),
		head+"1,10,0.1,2.5,100,40,0,,\n2,10,0.1,1.5,100,20,0,0.5,0.9\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []run.Setting{{Key: "data.name", Value: "mnist"}, {Key: "data.size", Value: "28"},
		{Key: "mine.positives", Value: "easy"}, {Key: "train.epochs", Value: "2"},
		{Key: "train.seed", Value: "1"}, {Key: "eval.recall", Value: "1, 5"}}
	if fmt.Sprint(r.Config) != fmt.Sprint(want) {
		t.Errorf("config %v, want %v", r.Config, want)
	}
	if v, err := r.LastValue("test_recall@1"); err != nil || v != 0.5 {
		t.Errorf("last recall %g, %v", v, err)
	}
	if !math.IsNaN(r.Values["test_recall@1"][0]) || r.Values["loss"][0] != 2.5 {
		t.Errorf("values %v", r.Values)
	}
	if got := fmt.Sprint(r.Metrics()); got != "[test_recall@1 test_label_recall@1]" {
		t.Errorf("metrics %s", got)
	}
}

func TestLoadRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ dir, want string }{
		{filepath.Join(t.TempDir(), "none"), "none"},
		{file, "is a file"},
		{t.TempDir(), "no config.yaml"},
		{writeFolder(t, "b", "a: 1", ""), "no metrics.csv"},
		{writeFolder(t, "c", "a: [1", head), "config.yaml"},
		{writeFolder(t, "d", "a: 1", "epoch,loss\n1\n"), "wrong number of fields"},
		{writeFolder(t, "e", "a: 1", "epoch,loss\n1,x\n"), `line 2, column "loss": "x" is not a number`},
		{writeFolder(t, "f", "a: 1", "epoch,epoch\n"), "twice"},
		{writeFolder(t, "g", "a: 1", "loss\n1\n"), "no column called epoch"},
	} {
		if _, err := Load(tc.dir); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want one with %q", err, tc.want)
		}
	}
	empty := writeFolder(t, "h", "a: 1", " ")
	if err := os.WriteFile(filepath.Join(empty, "metrics.csv"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(empty); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("error %v", err)
	}
}

func loadRun(t *testing.T, name, positives string, seed int, recalls ...float64) *Run {
	t.Helper()
	text := head
	for e, v := range recalls {
		text += fmt.Sprintf("%d,10,0.1,%g,100,40,0,%g,%g\n", e+1, 3-v, v, v/2)
	}
	r, err := Load(writeFolder(t, name, configText(positives, seed), text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pageHTML is the comparison's page as HTML.
func pageHTML(t *testing.T, c *Comparison) string {
	t.Helper()
	p, err := c.Page()
	if err != nil {
		t.Fatal(err)
	}
	html, err := p.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func TestCompareGroupsSeeds(t *testing.T) {
	c := Compare([]*Run{
		loadRun(t, "eps1", "easy", 1, 0.4, 0.6), loadRun(t, "rnd1", "random", 1, 0.3, 0.4),
		loadRun(t, "eps2", "easy", 2, 0.5, 0.7),
	})
	if len(c.Groups) != 2 || len(c.Groups[0].Runs) != 2 || fmt.Sprint(c.Differ) != "[mine.positives]" {
		t.Fatalf("%d groups, differ in %v", len(c.Groups), c.Differ)
	}
	if c.Groups[0].Name != "positives easy" || c.Groups[1].Name != "rnd1" {
		t.Errorf("names %q and %q", c.Groups[0].Name, c.Groups[1].Name)
	}
	text := ""
	for _, table := range c.Scores() {
		text += table.String()
	}
	for _, want := range []string{"positives easy  65.0 ± 7.1*", "seeds", "40.0", "recall@1, %",
		"Test set, by label"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	html := pageHTML(t, c)
	for _, want := range []string{"Runs compared", "mine.positives", "All 4 settings shared by all", "data.size",
		"test recall@1, %"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	l, ok := c.curves("test_recall@1", "t", func(*Run) float64 { return math.NaN() },
		func(r *Run, i int) float64 { return r.Values["test_recall@1"][i] })
	if !ok || len(l.Curves) != 2 || math.Abs(l.Curves[0].Y[1]-0.65) > 1e-12 || len(l.Curves[0].Low) != 2 ||
		len(l.Curves[1].Low) != 0 {
		t.Errorf("curves %+v", l.Curves)
	}
}

func TestCompareOneRunAndUnequalLengths(t *testing.T) {
	one := Compare([]*Run{loadRun(t, "only", "easy", 1, 0.4)})
	if p, err := one.Page(); err != nil || p.Title != "Run only" {
		t.Errorf("title %q, %v", p.Title, err)
	}
	c := Compare([]*Run{loadRun(t, "x", "easy", 1, 0.4, 0.5, 0.6), loadRun(t, "y", "easy", 2, 0.2)})
	l, _ := c.curves("test_recall@1", "t", func(*Run) float64 { return math.NaN() },
		func(r *Run, i int) float64 { return r.Values["test_recall@1"][i] })
	if got := fmt.Sprintf("%.2f", l.Curves[0].Y); got != "[0.30 0.50 0.60]" {
		t.Errorf("mean of runs of unequal length %s", got)
	}
	same := Compare([]*Run{loadRun(t, "z", "easy", 1, 0.4), loadRun(t, "z", "hard", 1, 0.4)})
	if same.Groups[0].Name == same.Groups[1].Name {
		t.Errorf("two groups called %q", same.Groups[0].Name)
	}
	pageHTML(t, Compare([]*Run{loadRun(t, "q", "easy", 1)})) // a run without epochs
}

// An epoch that taught nothing stands on the page.
func TestIdleEpochs(t *testing.T) {
	for metrics, want := range map[string]string{
		"1,10,0.1,2.5,1000,10,0,,\n2,10,0.1,0,896,8,5,0.5,0.9\n": "1 of 2 epochs; in epoch 2 8 of 896 tuples, while " +
			"5 samples had no positive",
		"1,10,0.1,2.5,0,0,70,,\n":    "1 of 1 epochs; in epoch 1 0 of 0 tuples, while 70 samples",
		"1,10,0.1,2.5,1000,10,0,,\n": "",
	} {
		r, err := Load(writeFolder(t, "a", configText("easy", 1), head+metrics))
		if err != nil {
			t.Fatal(err)
		}
		v, found := Compare([]*Run{r}).idleVerdict()
		if found != (want != "") || found && !strings.Contains(v.Reasons[0], want) {
			t.Errorf("%q: %v, want %q", metrics, v.Reasons, want)
		}
	}
}
