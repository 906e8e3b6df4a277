package eval

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// K 0 is the whole ranking: one query at 0, positives at ranks 2, 3 and 6 of 7.
func TestWholeRanking(t *testing.T) {
	q := setOnLine([]int64{1}, 0)
	g := setOnLine([]int64{0, 1, 1, 0, 0, 1, 0}, 1, 2, 3, 4, 5, 6, 7)
	ap := (1./2 + 2./3 + 3./6) / 3
	for _, alone := range []bool{true, false} { // a metric beside it must not cut its ranking
		for _, c := range []struct {
			kind Kind
			name string
			want float64
		}{{Recall, "recall", 1}, {Precision, "precision", 3. / 7}, {MAPAtK, "map", ap}, {MAP, "map", ap}} {
			cfg := Config{Metrics: []Metric{{Kind: c.kind}}}
			if !alone {
				cfg.Metrics = append(cfg.Metrics, Metric{Kind: Recall, K: 1}, Metric{Kind: NDCG, K: 2})
			}
			r, err := Evaluate(context.Background(), q, &g, cfg)
			if err != nil {
				t.Fatal(err)
			}
			requireNear(t, c.name, r.Columns[0].Values[0].Value, c.want)
			if got := r.Columns[0].Values[0].Metric.String(); got != c.name {
				t.Errorf("%v is called %q, want %q", c.kind, got, c.name)
			}
		}
	}
	// Among themselves the rows of a query's ranking are all others.
	s := setOnLine([]int64{1, 1, 2, 2, 2}, 0, 1, 2, 3, 4)
	r, err := Evaluate(context.Background(), s, nil, Config{Metrics: []Metric{{Kind: Recall}, {Kind: Precision}}})
	if err != nil {
		t.Fatal(err)
	}
	requireNear(t, "recall", r.Columns[0].Values[0].Value, 1)
	requireNear(t, "precision", r.Columns[0].Values[1].Value, (2*1./4+3*2./4)/5)
}

// Every kind, with K and Factor of every sort, is either computed or refused.
func TestEveryMetricIsComputedOrRefused(t *testing.T) {
	s := setOnLine([]int64{1, 1, 2, 2, 2, 1}, 0, 1, 2, 3, 4, 9)
	kinds := []Kind{"", "bogus", "Recall"}
	for _, e := range measures {
		if e.isRanking() || e.isClustering() {
			kinds = append(kinds, e.kind)
		}
	}
	for _, kind := range kinds {
		for _, k := range []int{-7, -1, 0, 1, 5, 6, 1 << 40} {
			for _, f := range []int{-1, 0, 1, 2, 3, 4, math.MaxInt} {
				m := Metric{Kind: kind, K: k, Factor: f}
				r, err := Evaluate(context.Background(), s, nil, Config{Metrics: []Metric{m}})
				wrong := m.Check() != nil
				impossible := m.isClustering() && f > 3
				if (err != nil) != (wrong || impossible) {
					t.Errorf("%+v: error %v, Check %v", m, err, m.Check())
				}
				if err != nil {
					continue
				}
				if v := r.Columns[0].Values[0].Value; !(v >= -1 && v <= 1) {
					t.Errorf("%+v is %g", m, v)
				}
				if _, err := json.Marshal(r); err != nil {
					t.Errorf("%+v: %v", m, err)
				}
			}
		}
	}
	for _, m := range []Metric{{Kind: "bogus"}, {Kind: Recall, K: -1}, {Kind: MRR, K: 3}, {Kind: MAP, K: 3},
		{Kind: NMI, K: 3}, {Kind: NMI, Factor: -2}, {Kind: Recall, Factor: 2}} {
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), "metric ") {
			t.Errorf("%+v: error %v", m, err)
		}
	}
}

func TestCheckNamesMetricNeedAndWhatThereIs(t *testing.T) {
	fifty := make([]int64, 150)
	for i := range fifty {
		fifty[i] = int64(i % 50)
	}
	for _, c := range []struct {
		name, metrics, want string
		q, g                [][]int64
		more                func(*Config)
	}{
		{"clusters", "nmi+30,recall@1",
			`nmi+30 by "fine" needs k-means with 50 x 30 clusters (classes x factor), and there are 150 rows`,
			[][]int64{fifty}, nil, nil},
		{"clusters that fit", "nmi+3", "", [][]int64{fifty}, nil, nil},
		{"one too many", "nmi+4", "nmi+4", [][]int64{fifty}, nil, nil},
		{"singletons", "recall@1,map@r,nmi",
			`recall@1, map@r by "fine": no query has a positive in the gallery, which is the queries themselves, each the only one of its class: all 3 would be left out`, [][]int64{{4, 5, 6}}, nil, nil},
		{"singletons of the second column", "recall@1", `by "coarse"`, [][]int64{{4, 4, 6}, {1, 2, 3}}, nil, nil},
		{"no class in common", "recall@1", "which has no item of a query's class", [][]int64{{1, 1}}, [][]int64{{2, 3}},
			nil},
		{"one class in common", "recall@1", "", [][]int64{{1, 2}}, [][]int64{{2, 3}}, nil},
		{"singletons cluster", "nmi", "", [][]int64{{4, 5, 6}}, nil, nil},
		{"no labels", "nmi", "no labels", nil, nil, nil},
		{"no rows", "nmi", "no labels of queries", [][]int64{{}}, nil, nil},
		{"columns", "recall@1", "1 columns of labels, but the gallery has 2", [][]int64{{1, 1}},
			[][]int64{{1}, {1}}, nil},
		{"assignments", "nmi", "2 class labels, but 1", [][]int64{{1, 1}}, nil,
			func(c *Config) { c.Assignments = []int64{1} }},
		{"assignments for nothing", "recall@1", "no metric scores it", [][]int64{{1, 1}}, nil,
			func(c *Config) { c.Assignments = []int64{1, 1} }},
		{"confidence", "recall@1", "confidence NaN", [][]int64{{1, 1}}, nil,
			func(c *Config) { c.Confidence, c.Bootstrap = math.NaN(), 3 }},
		{"names", "recall@1", `two columns of labels are called "a"`, [][]int64{{1, 1}, {1, 1}}, nil,
			func(c *Config) { c.Columns = []string{"a", "a"} }},
	} {
		ms, err := ParseMetrics(c.metrics)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Metrics: ms, Columns: []string{"fine", "coarse"}}
		if c.more != nil {
			c.more(&cfg)
		}
		err = Check(c.q, c.g, cfg)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		// What Check passes Evaluate computes, what it refuses Evaluate refuses.
		set := func(labels [][]int64) *Set {
			if labels == nil {
				return nil
			}
			x := matrix.New(len(labels[0]), 2)
			for i := range x.Data {
				x.Data[i] = float32(i % 7)
			}
			return &Set{X: x, Labels: labels}
		}
		if q := set(c.q); q != nil {
			if _, e := Evaluate(context.Background(), *q, set(c.g), cfg); (e == nil) != (err == nil) {
				t.Errorf("%s: Check says %v, Evaluate %v", c.name, err, e)
			}
		}
	}
}

func TestReportMarshalsAlikeByValueAndByPointer(t *testing.T) {
	r := evaluate(t, drawBlobs(3, 10), nil, "recall@1,nmi")
	byPointer, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	byValue, err := json.Marshal(*r)
	if err != nil || string(byValue) != string(byPointer) {
		t.Errorf("%v\n%s\n%s", err, byValue, byPointer)
	}
	inside, err := json.Marshal(map[string]Report{"r": *r})
	if want := `{"r":` + string(byPointer) + `}`; err != nil || string(inside) != want {
		t.Errorf("%v\n%s\n%s", err, inside, want)
	}
}

// A report of nothing can be written in every form.
func TestEmptyReport(t *testing.T) {
	var b strings.Builder
	r := Report{}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	for _, err := range []error{r.WriteText(&b), r.WriteMarkdown(&b), r.WriteCSV(&b), r.WriteClassesCSV(&b)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// Odd sets are errors, not panics or numbers.
func TestEvaluateRefusesOddSets(t *testing.T) {
	s := setOnLine([]int64{1, 1, 2}, 0, 1, 2)
	recall := Config{Metrics: []Metric{{Kind: Recall, K: 1}, {Kind: NMI}}}
	other := recall
	other.Distance = Distance(3)
	for name, f := range map[string]func() error{
		"no embeddings": func() error {
			_, err := Evaluate(context.Background(), Set{Labels: s.Labels}, nil, recall)
			return err
		},
		"no gallery embeddings": func() error {
			_, err := Evaluate(context.Background(), s, &Set{Labels: s.Labels}, recall)
			return err
		},
		"distance": func() error { _, err := Evaluate(context.Background(), s, nil, other); return err },
		"recall without embeddings": func() error {
			_, err := RecallAt(context.Background(), nil, s.Labels[0], Euclidean, 1)
			return err
		},
		"recall of other labels": func() error {
			_, err := RecallAt(context.Background(), s.X, []int64{1}, Euclidean, 1)
			return err
		},
		"recall by a distance": func() error {
			_, err := RecallAt(context.Background(), s.X, s.Labels[0], -1, 1)
			return err
		},
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Rows of no coordinates are all equal: the lowest index is the nearest.
func TestRowsOfNoCoordinates(t *testing.T) {
	s := Set{X: matrix.New(4, 0), Labels: [][]int64{{1, 1, 2, 2}}}
	r := evaluate(t, s, nil, "recall@1,nmi")
	requireNear(t, "recall@1", r.Columns[0].get(t, "recall@1"), 0.5)
	requireNear(t, "nmi", r.Columns[0].get(t, "nmi"), 0)
}
