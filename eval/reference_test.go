package eval_test

import (
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/matrix"
)

// checkComplete tells which metrics have no reference.
func checkComplete(t *testing.T, names []string, seen map[eval.Kind]bool) {
	t.Helper()
	for _, name := range names {
		m, err := eval.ParseMetric(strings.Replace(name, "@K", "@1", 1))
		if err != nil || !seen[m.Kind] {
			t.Errorf("%s: no case of make_cases.py has it, %v", name, err)
		}
	}
}

func TestReferenceRetrieval(t *testing.T) {
	seen := map[eval.Kind]bool{}
	for _, c := range refdata.ReadCases(t).Retrieval {
		t.Run(c.Distance+" "+c.Name, func(t *testing.T) {
			var cfg eval.Config
			var err error
			if cfg.Distance, err = eval.ParseDistance(c.Distance); err != nil {
				t.Fatal(err)
			}
			for name := range c.Metrics {
				m, err := eval.ParseMetric(name)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Metrics = append(cfg.Metrics, m)
				seen[m.Kind] = true
			}
			q := eval.Set{X: matrix.FromSlice(len(c.Labels), c.Dim, c.X), Labels: [][]int64{c.Labels}}
			var g *eval.Set
			if c.Gallery != nil {
				g = &eval.Set{X: matrix.FromSlice(len(c.GalleryLabels), c.Dim, c.Gallery),
					Labels: [][]int64{c.GalleryLabels}}
			}
			rep, err := eval.Evaluate(t.Context(), q, g, cfg)
			if err != nil {
				t.Fatal(err)
			}
			col := rep.Columns[0]
			if col.Queries != c.Queries || col.Excluded != c.Excluded {
				t.Errorf("%d queries, %d left out; want %d and %d", col.Queries, col.Excluded, c.Queries, c.Excluded)
			}
			for _, v := range col.Values {
				if want := c.Metrics[v.Metric.String()]; math.Abs(v.Value-want) > 1e-12 {
					t.Errorf("%s = %.15g, want %.15g", v.Metric, v.Value, want)
				}
			}
		})
	}
	rankings, _, _, _ := eval.MetricNames()
	checkComplete(t, rankings, seen)
}

func TestReferenceClusterings(t *testing.T) {
	seen := map[eval.Kind]bool{}
	for _, c := range refdata.ReadCases(t).Clustering {
		cfg := eval.Config{Assignments: c.Clusters}
		for name := range c.Scores {
			m, err := eval.ParseMetric(name)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Metrics = append(cfg.Metrics, m)
			seen[m.Kind] = true
		}
		rep, err := eval.Evaluate(t.Context(), eval.Set{X: matrix.New(len(c.Classes), 1), Labels: [][]int64{c.Classes}},
			nil, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rep.Columns[0].Values {
			if want := c.Scores[v.Metric.String()]; !(math.Abs(v.Value-want) <= 1e-12) {
				t.Errorf("%s: %s = %.15g, want %.15g", c.Name, v.Metric, v.Value, want)
			}
		}
	}
	_, clusterings, _, _ := eval.MetricNames()
	checkComplete(t, clusterings, seen)
}
