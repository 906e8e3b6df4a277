package eval

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// Six points on a line, of two classes.
func decisionSet() Set { return setOnLine([]int64{1, 1, 2, 2, 2, 1}, 0, 1, 2.5, 3.5, 7, 9) }

func measureDecisionMetrics(t *testing.T, q Set, g *Set, cfg Config, metrics string) *Report {
	t.Helper()
	var err error
	if cfg.Metrics, err = ParseMetrics(metrics); err != nil {
		t.Fatal(err)
	}
	rep, err := Evaluate(context.Background(), q, g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// The values of decisions are those of ComparePairs, each beside its threshold, and
// stand behind those of retrieval and clustering, whatever the order of the names.
func TestDecisionsAreThoseOfThePairs(t *testing.T) {
	s := decisionSet()
	rep := measureDecisionMetrics(t, s, nil, Config{Bootstrap: 200, PerClass: true, NumWorst: 2},
		"fnmr@fmr=0.2,recall@1,eer,tar@far=0.2,nmi,auc,dprime")
	c, err := ComparePairs(context.Background(), s, nil, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := c.RatesAtFMR(0.2)
	eer, at := c.EER()
	want := []Value{{}, {}, {Value: r.FNMR, Decision: &Decision{r.Threshold, r.FMR}},
		{Value: eer, Decision: &Decision{at, c.RatesAt(at).FMR}},
		{Value: 1 - r.FNMR, Decision: &Decision{r.Threshold, r.FMR}}, {Value: c.AUC()}, {Value: c.DPrime()}}
	got := rep.Columns[0].Values
	var names []string
	for _, v := range got {
		names = append(names, v.Metric.String())
	}
	if g := strings.Join(names, " "); g != "recall@1 nmi fnmr@fmr=0.2 eer tar@far=0.2 auc dprime" {
		t.Fatalf("the order is %s", g)
	}
	for i, w := range want {
		if i < 2 {
			continue
		}
		g := got[i]
		if g.Value != w.Value || (g.Decision == nil) != (w.Decision == nil) ||
			g.Decision != nil && *g.Decision != *w.Decision {
			t.Errorf("%s: %v at %v, want %v at %v", g.Metric, g.Value, g.Decision, w.Value, w.Decision)
		}
		if g.ByClass == nil || g.ByQuery != nil || !(g.ByClass.Low <= g.ByClass.High) {
			t.Errorf("%s: intervals %v and %v", g.Metric, g.ByQuery, g.ByClass)
		}
	}
	if fnmr, tar := got[2].ByClass, got[4].ByClass; math.Abs(fnmr.Low+tar.High-1) > 1e-12 {
		t.Errorf("the intervals of FNMR and of TAR are %v and %v", fnmr, tar)
	}
	if n := len(rep.Columns[0].PerClass[0].Values); n != 1 {
		t.Errorf("a class has %d values, want that of recall alone", n)
	}
	checkForms(t, rep)
}

// checkForms writes a report in all its forms.
func checkForms(t *testing.T, rep *Report) {
	t.Helper()
	b, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var doc jsonReport
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	d := rep.Columns[0].Values[2].Decision
	if doc.Decisions.Genuine != 6 || doc.Decisions.Impostor != 9 ||
		*doc.Decisions.Thresholds["fnmr@fmr=0.2"].Threshold != d.Threshold || doc.Intervals["eer"].ByQuery != nil {
		t.Errorf("%s", b)
	}
	var text, table strings.Builder
	if rep.WriteText(&text) != nil || rep.WriteCSV(&table) != nil {
		t.Fatal("not written")
	}
	for _, want := range []string{"label: thresholds", "6 genuine and 9 impostor pairs", "fnmr@fmr=0.2"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	for row := range strings.Lines(table.String()) {
		if n := strings.Count(row, ","); n != 10 {
			t.Errorf("%d commas in %q", n, row)
		}
	}
}

func TestListsAndOpenSets(t *testing.T) {
	s := decisionSet()
	pairs := []Pair{{A: 0, B: 1, Same: true}, {A: 1, B: 2}, {A: 2, B: 3, Same: true, Fold: 1},
		{A: 0, B: 4, Fold: 1}}
	rep := measureDecisionMetrics(t, s, nil, Config{Pairs: pairs}, "accuracy,auc")
	if c := rep.Columns[0]; c.Values[0].Value != 1 || c.Pairs.Genuine() != 2 || c.Pairs.Impostor() != 2 {
		t.Errorf("%+v", c)
	}
	if len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0], "2 folds") {
		t.Errorf("notes %q", rep.Notes)
	}
	// Queries of classes 1 and 2 in a gallery of class 1: those of 2 should be unknown.
	g := setOnLine([]int64{1, 1}, 0.25, 8)
	rep = measureDecisionMetrics(t, s, &g, Config{Bootstrap: 50}, "recall@1,fnir@fpir=0.4,dir@fpir=0.4")
	v := rep.Columns[0].Values
	// Nearest of 2.5, 3.5 and 7: 2.25, 3.25 and 1. One of three may be found: a threshold below 2.25,
	// within which 0, 1 and 9 find their class.
	if v[1].Value != 0 || v[2].Value != 1 || v[1].Decision.Rate != 1./3 || v[1].Decision.Threshold >= 2.25 {
		t.Errorf("%+v %+v", v[1], v[1].Decision)
	}
	if o := rep.Columns[0].OpenSet; o.NumMated() != 3 || o.NumUnmated() != 3 || o.Rank1() != 1 {
		t.Errorf("%d mated, %d unmated, rank 1 %v", o.NumMated(), o.NumUnmated(), o.Rank1())
	}
}

func TestDecisionNames(t *testing.T) {
	ms, err := ParseMetrics("FNMR@FMR=1e-3,fnmr@fmr=0.001,tar@far=0.01,eer,auc,dprime,accuracy,fnir@fpir=0.01," +
		"dir@fpir=1e-4")
	if err != nil {
		t.Fatal(err)
	}
	want := []Metric{{Kind: FNMR, Rate: 1e-3}, {Kind: TAR, Rate: 0.01}, {Kind: EER}, {Kind: AUC}, {Kind: DPrime},
		{Kind: Accuracy}, {Kind: FNIR, Rate: 0.01}, {Kind: DIR, Rate: 1e-4}}
	if !slices.Equal(ms, want) {
		t.Errorf("%v", ms)
	}
	for _, m := range ms {
		again, err := ParseMetric(m.String())
		if err != nil || again != m || m.Check() != nil {
			t.Errorf("%v comes back as %v, %v, %v", m, again, err, m.Check())
		}
	}
	for _, bad := range []string{"fnmr", "fnmr@fmr", "fnmr@fmr=", "fnmr@fmr=0", "fnmr@fmr=1", "fnmr@fmr=-1",
		"fnmr@fmr=nan", "fnmr@fmr=inf", "eer=0.1", "auc=", "tar@far=1e-3+2", "fnir@fpir=x", "dprime@3"} {
		if _, err := ParseMetrics(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	for _, m := range []Metric{{Kind: EER, Rate: 0.1}, {Kind: FNMR}, {Kind: TAR, Rate: math.NaN()}, {Kind: AUC, K: 1},
		{Kind: DPrime, Factor: 2}, {Kind: Recall, K: 1, Rate: 0.5}} {
		if m.Check() == nil {
			t.Errorf("%+v: no error", m)
		}
	}
}

// What cannot be decided is refused with a reason: by the labels alone where they show it.
func TestDecisionsRefused(t *testing.T) {
	one, singles := setOnLine([]int64{4, 4, 4}, 0, 1, 2), setOnLine([]int64{1, 2, 3}, 0, 1, 2)
	s := decisionSet()
	nan := decisionSet()
	nan.X.Row(3)[0] = float32(math.NaN())
	pairs := []Pair{{A: 0, B: 1, Same: true}, {A: 0, B: 2}}
	for _, c := range []struct {
		metrics, want string
		q             Set
		g             *Set
		pairs         []Pair
		late          bool // labels alone do not show it
	}{
		{"eer", "all items are of one class", one, nil, nil, false},
		{"eer", "no two items are of one class", singles, nil, nil, false},
		{"auc", "no two items are of one class", one, &singles, nil, false},
		{"auc", "row 3 of the query embeddings", nan, nil, nil, true},
		{"fnir@fpir=0.1", "no probe without a mate", s, nil, nil, false},
		{"dir@fpir=0.1", "no probe with a mate", singles, nil, nil, false},
		{"fnir@fpir=0.1", "no probe with a mate", one, &singles, nil, false},
		{"accuracy", "no list was given", s, nil, nil, false},
		{"accuracy", "two folds or more", s, nil, pairs, true},
		{"fnir@fpir=0.1,eer", "cannot use a list of pairs", s, nil, pairs, false},
		{"recall@1", "no metric uses it", s, nil, pairs, false},
		{"eer", "a list of pairs and a gallery", s, &s, pairs, false},
		{"eer", "pair 0 has rows 0 and 99", s, nil, []Pair{{B: 99}}, true},
		{"eer", "no impostor pair", s, nil, pairs[:1], true},
		// Genuine pairs at 0, impostor pairs at 1.
		{"dprime", "dprime is +Inf", Set{X: matrix.New(2, 1), Labels: [][]int64{{1, 1}}}, &Set{
			X: matrix.FromSlice(2, 1, []float32{0, 1}), Labels: [][]int64{{1, 3}}}, nil, true},
	} {
		cfg := Config{Pairs: c.pairs}
		var err error
		if cfg.Metrics, err = ParseMetrics(c.metrics); err != nil {
			t.Fatal(err)
		}
		_, err = Evaluate(context.Background(), c.q, c.g, cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.metrics, err, c.want)
		}
		var g [][]int64
		if c.g != nil {
			g = c.g.Labels
		}
		if err := Check(c.q.Labels, g, cfg); (err == nil) != c.late {
			t.Errorf("%s: Check says %v", c.metrics, err)
		}
	}
}
