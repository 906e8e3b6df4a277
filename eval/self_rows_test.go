package eval

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Queries that are all items of the gallery have the scores of the gallery searched among itself, for every metric,
// with intervals and lists, in whatever order the gallery is.
func TestSelfIsLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, ties := range []bool{false, true} {
		q := randomSet(rng, 90, 4, 7, ties)
		q.Labels[0][11], q.Labels[0][12] = 100, 101 // the only items of their classes
		metrics, err := ParseMetrics("recall@1,recall@5,map@r,r-precision,map@10,mrr,nmi,fnmr@fmr=0.1,eer,auc,dprime," +
			"fnir@fpir=0.5,dir@fpir=0.5")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []Distance{Euclidean, Cosine, Dot} {
			cfg := Config{Metrics: metrics, Distance: d, PerClass: true, NumWorst: 5}
			if !ties {
				cfg.Bootstrap = 20
			}
			want, err := Evaluate(context.Background(), q, nil, cfg)
			if err != nil {
				t.Fatal(err)
			}
			g := Set{X: q.X, Labels: q.Labels}
			for i := range q.X.Rows {
				cfg.SelfRows = append(cfg.SelfRows, int32(i))
			}
			have, err := Evaluate(context.Background(), q, &g, cfg)
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(have.Notes, "\n")
			if have.SelfQueries != 90 || !strings.Contains(notes,
				"90 of 90 queries are also items of the gallery: each is "+
					"left out of its own results") ||
				!strings.Contains(notes, "2 queries are the only items of their class") {
				t.Errorf("%d, %q", have.SelfQueries, have.Notes)
			}
			if text, err := json.Marshal(have); err != nil || !strings.Contains(string(text), `"itself":90`) {
				t.Errorf("%s, %v", text, err)
			}
			for c := range have.Columns {
				have.Columns[c].Pairs, want.Columns[c].Pairs = nil, nil // each pair is compared twice
				have.Columns[c].OpenSet, want.Columns[c].OpenSet = nil, nil
			}
			if diff := cmp.Diff(want.Columns, have.Columns); diff != "" {
				t.Errorf("%v, ties %v: %s", d, ties, diff)
			}
		}
	}
}

// A part of the gallery as queries has the scores of its rows, in another order of the gallery too.
func TestSelfOfSomeQueries(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	g := randomSet(rng, 80, 5, 6, false)
	metrics, err := ParseMetrics("recall@1,map@r,r-precision")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Evaluate(context.Background(), g, nil, Config{Metrics: metrics, NumWorst: 80})
	if err != nil {
		t.Fatal(err)
	}
	rows := rng.Perm(80)[:30]
	q := randomSet(rng, 31, 5, 6, false) // the last is no item
	cfg := Config{Metrics: metrics, NumWorst: 31}
	for i, j := range rows {
		copy(q.X.Row(i), g.X.Row(j))
		q.Labels[0][i] = g.Labels[0][j]
		cfg.SelfRows = append(cfg.SelfRows, int32(j))
	}
	cfg.SelfRows = append(cfg.SelfRows, -1)
	some, err := Evaluate(context.Background(), q, &g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range some.Columns[0].Worst {
		if w.Index == 30 {
			continue
		}
		at := slices.IndexFunc(all.Columns[0].Worst, func(o Query) bool { return o.Index == rows[w.Index] })
		want := all.Columns[0].Worst[at]
		if w.Positives != want.Positives || w.FirstRank != want.FirstRank || !slices.Equal(w.Values, want.Values) ||
			!slices.Equal(w.Neighbours, want.Neighbours) {
			t.Errorf("query %d: %+v, want %+v", w.Index, w, want)
		}
	}
	for _, self := range [][]int32{{0}, slices.Repeat([]int32{80}, 31), slices.Repeat([]int32{-2}, 31)} {
		cfg.SelfRows = self
		if _, err := Evaluate(context.Background(), q, &g, cfg); err == nil {
			t.Errorf("rows %v for 31 queries and 80 items", self[:1])
		}
	}
	if cfg.SelfRows = make([]int32, 31); true {
		if _, err := Evaluate(context.Background(), q, nil, cfg); err == nil {
			t.Error("Self without a gallery")
		}
	}
}

// If nothing but the queries themselves is of their classes, there is no score.
func TestOnlyItself(t *testing.T) {
	q := setOnLine([]int64{1, 2, 3}, 0, 1, 2)
	g := setOnLine([]int64{1, 2, 3, 4}, 0, 1, 2, 3)
	cfg := Config{Metrics: []Metric{{Kind: Recall, K: 1}}, SelfRows: []int32{0, 1, 2}}
	_, err := Evaluate(context.Background(), q, &g, cfg)
	if err == nil || !strings.Contains(err.Error(), "no item of a query's class but the query itself") {
		t.Error(err)
	}
}
