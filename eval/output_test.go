package eval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fullReport has everything a report may have, with numbers that tell apart.
func fullReport() *Report {
	recall, mapr, nmi := Metric{Kind: Recall, K: 1}, Metric{Kind: MAPAtR}, Metric{Kind: NMI, Factor: 1}
	between := func(lo, hi float64) *Interval { return &Interval{Low: lo, High: hi, Confidence: 0.9, Resamples: 40} }
	return &Report{
		Columns: []Column{
			{
				Name: "label", Classes: 3, Queries: 30, Excluded: 2, Names: map[int64]string{7: "a|é"},
				Values: []Value{
					{Metric: recall, Value: 0.5, ByQuery: between(0.25, 0.75), ByClass: between(0.125, 0.875)},
					{Metric: mapr, Value: 0.0625, ByQuery: between(0, 0.5), ByClass: between(0, 1)},
					{Metric: nmi, Value: 1},
				},
				PerClass: []Class{{7, 20, []float64{0.75, 0.5}}, {-8, 10, []float64{0.25, 0}}},
				Worst: []Query{
					{Index: 4, Label: 7, Positives: 3, FirstRank: 0, Values: []float64{0, 0}, Neighbours: []int32{9, 8},
						NeighbourLabels: []int64{-8, 7}},
					{Index: 5, Label: -8, Positives: 1, FirstRank: 1, Values: []float64{1, 1}},
				},
			},
			{
				Name: "fine", Classes: 15, Queries: 28, Excluded: 4,
				Values: []Value{{Metric: recall, Value: 1}, {Metric: mapr, Value: 0.33335},
					{Metric: nmi, Value: 0.125}},
				PerClass: []Class{{1, 28, []float64{1, 0.33335}}},
			},
		},
		Clusterings: []Clustering{{K: 3, Init: "k-means++", Seed: 5, Restarts: 2, Iterations: 11, Converged: true,
			Inertia: 1.5, Refilled: 1, Empty: 0}},
		Notes: []string{"a note"},
	}
}

// TestReportsWordForWord holds the forms of a report, which others read,
// to their letters.
func TestReportsWordForWord(t *testing.T) {
	rep := fullReport()
	var text, md, table, classes strings.Builder
	for _, err := range []error{rep.WriteText(&text), rep.WriteMarkdown(&md), rep.WriteCSV(&table),
		rep.WriteClassesCSV(&classes)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"report.txt": text.String(), "report.md": md.String(), "report.csv": table.String(),
		"classes.csv": classes.String(), "report.json": string(b),
	} {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
}

// TestNormalisationIsStated where a measure is normalised by the arithmetic
// mean, and nowhere else.
func TestNormalisationIsStated(t *testing.T) {
	for _, e := range measures {
		kind := e.kind
		rep := &Report{Columns: []Column{{Values: []Value{{Metric: Metric{Kind: Precision, K: 1}},
			{Metric: Metric{Kind: kind}}}}}}
		stated := strings.Contains(strings.Join(rep.remarks(), "\n"), "normalised by the arithmetic mean")
		if want := kind == NMI || kind == AMI; stated != want {
			t.Errorf("%s: stated %v", kind, stated)
		}
	}
}

// TestReach: the deepest metric decides how far a ranking goes, and one that
// looks at all of it at once.
func TestReach(t *testing.T) {
	for _, tc := range []struct {
		metrics string
		depth   int
		first   bool
	}{
		{"recall@1", 1, true},
		{"recall@4,recall@32,recall@2", 32, true},
		{"mrr", 0, true},
		{"mrr,recall@3", 0, true},
		{"recall@3,mrr", 0, true},
		{"recall@2,precision@5", 5, false},
		{"precision@5,recall@2", 5, false},
		{"map@r", 9, false},
		{"recall@12,r-precision", 12, false},
		{"recall@1,r-precision", 9, false},
		{"map,map@3", 0, false},
		{"ndcg@3,map@20", 20, false},
		{"ndcg@3,ndcg", 0, false},
	} {
		metrics, err := ParseMetrics(tc.metrics)
		if err != nil {
			t.Fatal(err)
		}
		if depth, first := requiredDepth(metrics, 9); depth != tc.depth || first != tc.first {
			t.Errorf("%s: to rank %d, first only %v; want %d, %v", tc.metrics, depth, first, tc.depth, tc.first)
		}
	}
	if depth, _ := requiredDepth([]Metric{{Kind: MAPAtR}}, 0); depth != 1 {
		t.Errorf("without positives: %d", depth)
	}
}

// TestInterval: equal shares of the values are cut off at both ends, linear
// between order statistics.
func TestInterval(t *testing.T) {
	var values []float64
	for k := range 201 {
		values = append(values, float64((k*7)%201)) // 0..200, mixed
	}
	for _, tc := range []struct{ confidence, low, high float64 }{
		{0.9, 10, 190}, {0.5, 50, 150}, {0.995, 0.5, 199.5}, {1, 0, 200},
	} {
		got := quantileInterval(append([]float64(nil), values...), tc.confidence)
		requireNear(t, "low", got.Low, tc.low)
		requireNear(t, "high", got.High, tc.high)
		if got.Confidence != tc.confidence || got.Resamples != 201 {
			t.Errorf("%+v", got)
		}
	}
	if got := quantileInterval([]float64{3}, 0.95); got.Low != 3 || got.High != 3 {
		t.Errorf("of one value: %+v", got)
	}
	if got := quantileInterval([]float64{5, 3}, 0.5); got.Low != 3.5 || got.High != 4.5 {
		t.Errorf("of two values: %+v", got)
	}
}
