package eval

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func evaluate(t *testing.T, q Set, g *Set, metrics string, more ...func(*Config)) *Report {
	t.Helper()
	ms, err := ParseMetrics(metrics)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Metrics: ms}
	for _, f := range more {
		f(&cfg)
	}
	r, err := Evaluate(context.Background(), q, g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c *Column) get(t *testing.T, name string) float64 {
	t.Helper()
	for _, v := range c.Values {
		if v.Metric.String() == name {
			return v.Value
		}
	}
	t.Fatalf("no value of %s", name)
	return 0
}

// setOnLine places rows on a line, so that rankings can be read off.
func setOnLine(labels []int64, at ...float32) Set {
	return Set{X: matrix.FromSlice(len(at), 1, at), Labels: [][]int64{labels}}
}

func requireNear(t *testing.T, name string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("%s = %.15g, want %.15g", name, got, want)
	}
}

// One query at 0; the gallery's positives stand at ranks 2, 3 and 6 of 7.
func TestMeasuresByHand(t *testing.T) {
	q := setOnLine([]int64{1}, 0)
	g := setOnLine([]int64{0, 1, 1, 0, 0, 1, 0}, 1, 2, 3, 4, 5, 6, 7)
	r := evaluate(t, q, &g, "recall@1,recall@2,precision@1,precision@2,precision@3,precision@6,precision@10,map@r,"+
		"r-precision,map,map@2,map@3,map@6,mrr,ndcg,ndcg@2,ndcg@10")
	log := math.Log2
	ideal := 1 + 1/log(3) + 1/log(4)
	for name, want := range map[string]float64{
		"recall@1": 0, "recall@2": 1,
		"precision@1": 0, "precision@2": 0.5, "precision@3": 2. / 3, "precision@6": 0.5, "precision@10": 0.3,
		"r-precision": 2. / 3,
		"map@r":       (1./2 + 2./3) / 3,
		"map":         (1./2 + 2./3 + 3./6) / 3,
		"map@2":       (1. / 2) / 2,
		"map@3":       (1./2 + 2./3) / 3,
		"map@6":       (1./2 + 2./3 + 3./6) / 3,
		"mrr":         0.5,
		"ndcg":        (1/log(3) + 1/log(4) + 1/log(7)) / ideal,
		"ndcg@2":      (1 / log(3)) / (1 + 1/log(3)),
		"ndcg@10":     (1/log(3) + 1/log(4) + 1/log(7)) / ideal,
	} {
		requireNear(t, name, r.Columns[0].get(t, name), want)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "precision@10: a query has only 7 other items") {
		t.Errorf("notes %q: want one for each k beyond the gallery", r.Notes)
	}
}

// trap: dropping neighbour 0 instead of the query's own index. Rows 0 and 1 are
// duplicates with different labels; ties go to the lowest index, so the first
// neighbour of row 1 is row 0, and dropping it would keep row 1 as a free hit.
func TestTrapSelfIsExcludedByIndexNotByPosition(t *testing.T) {
	s := setOnLine([]int64{1, 2, 1, 2}, 5, 5, 9, 0)
	r := evaluate(t, s, nil, "recall@1,recall@2")
	// row 0: 1 (2), 2 (1): hit at 2. row 1: 0 (1), 2 (1), 3: hit at 3.
	// row 2: 0 (1): hit at 1. row 3: 0 (1), 1 (2): hit at 2.
	requireNear(t, "recall@1", r.Columns[0].get(t, "recall@1"), 0.25)
	requireNear(t, "recall@2", r.Columns[0].get(t, "recall@2"), 0.75)
}

// trap: a duplicate of the query with its label is a true hit, though at distance
// 0 like the query itself.
func TestTrapDuplicatesOfTheQueryCount(t *testing.T) {
	s := setOnLine([]int64{1, 1, 2, 2}, 5, 5, 5, 9)
	requireNear(t, "recall@1", evaluate(t, s, nil, "recall@1").Columns[0].get(t, "recall@1"), 0.5)
}

// trap: R counted including self; a perfect embedding must score 1.
func TestTrapPerfectEmbeddingScoresOne(t *testing.T) {
	s := setOnLine([]int64{1, 1, 1, 2, 2, 3, 3, 3, 3}, 0, 1, 2, 100, 101, 200, 201, 202, 203)
	r := evaluate(t, s, nil, "recall@1,map@r,r-precision,map,mrr,ndcg")
	for _, v := range r.Columns[0].Values {
		requireNear(t, v.Metric.String(), v.Value, 1)
	}
}

// trap: MAP@k divided by the hits found instead of min(k, R): one hit of three
// positives at rank 1 is not perfect.
func TestTrapMAPAtKIsNotDividedByTheHits(t *testing.T) {
	q, g := setOnLine([]int64{1}, 0), setOnLine([]int64{1, 0, 0, 1, 1}, 1, 2, 3, 4, 5)
	r := evaluate(t, q, &g, "map@3,map@1")
	requireNear(t, "map@3", r.Columns[0].get(t, "map@3"), 1./3)
	requireNear(t, "map@1", r.Columns[0].get(t, "map@1"), 1)
}

// trap: labels cast to float32, where ids above 2^24 merge; negative ones are
// classes like any other.
func TestTrapLabelsKeepAll64Bits(t *testing.T) {
	big := int64(1) << 62
	s := setOnLine([]int64{big, big + 1, big, big + 1, -5, -5}, 0, 1, 2, 3, 10, 11)
	r := evaluate(t, s, nil, "recall@1,ari,nmi", func(c *Config) { c.Assignments = []int64{1, 2, 1, 2, 3, 3} })
	if r.Columns[0].Classes != 3 {
		t.Errorf("%d classes, want 3", r.Columns[0].Classes)
	}
	requireNear(t, "recall@1", r.Columns[0].get(t, "recall@1"), 2./6)
	requireNear(t, "ari", r.Columns[0].get(t, "ari"), 1)
}

// trap: R-metrics from a list of k neighbours, silently wrong when k is smaller
// than the largest class. Asking for recall@1 beside them must not cut the list.
func TestTrapRMetricsSeeTheLargestClass(t *testing.T) {
	n := 300
	labels, at := make([]int64, n), make([]float32, n)
	for i := range n {
		labels[i] = int64(i / 150)
		at[i] = float32(i)
	}
	s := setOnLine(labels, at...)
	with := evaluate(t, s, nil, "recall@1,map@r,r-precision").Columns[0]
	if p := with.get(t, "r-precision"); p < 0.7 || p >= 1 {
		t.Errorf("r-precision %g: only queries at the border lack positives", p)
	}
	var sum float64
	for i := range n {
		inside := 0
		order := make([]int, 0, n)
		for j := range n {
			if j != i {
				order = append(order, j)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return int(math.Abs(float64(a-i))) - int(math.Abs(float64(b-i)))
		})
		for _, j := range order[:149] {
			if labels[j] == labels[i] {
				inside++
			}
		}
		sum += float64(inside) / 149
	}
	requireNear(t, "r-precision", with.get(t, "r-precision"), sum/float64(n))
}

// trap: NMI without the name of its normaliser. The two differ, and the report
// says which is which.
func TestTrapNMIStatesItsNormaliser(t *testing.T) {
	s := setOnLine([]int64{1, 1, 1, 2, 2, 2}, 0, 1, 2, 10, 11, 12)
	r := evaluate(t, s, nil, "nmi,nmi-geometric", func(c *Config) { c.Assignments = []int64{1, 1, 2, 2, 2, 3} })
	a, g := r.Columns[0].get(t, "nmi"), r.Columns[0].get(t, "nmi-geometric")
	if a >= g {
		t.Errorf("arithmetic %g, geometric %g: the geometric mean of different entropies is smaller", a, g)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "arithmetic mean of the entropies") {
		t.Errorf("the report does not name the normaliser:\n%s", b.String())
	}
}

// trap: K taken from the training classes. K is the number of classes among the
// queries, times the factor; the report states K, seed, restarts and iterations.
func TestTrapKMeansKIsTheNumberOfTestClasses(t *testing.T) {
	s := drawBlobs(4, 30)
	r := evaluate(t, s, nil, "nmi,nmi+3,ami+3", func(c *Config) { c.Clustering.Seed, c.Clustering.Restarts = 11, 2 })
	if len(r.Clusterings) != 2 || r.Clusterings[0].K != 4 || r.Clusterings[1].K != 12 {
		t.Fatalf("clusterings %+v: want K 4 and 12, once each", r.Clusterings)
	}
	if c := r.Clusterings[0]; c.Seed != 11 || c.Restarts != 2 || c.Iterations == 0 || c.Init != "k-means++" {
		t.Errorf("clustering %+v", c)
	}
	requireNear(t, "nmi", r.Columns[0].get(t, "nmi"), 1)
}

// drawBlobs are classes far apart.
func drawBlobs(classes, per int) Set {
	rng := rand.New(rand.NewPCG(1, 2))
	s := Set{X: matrix.New(classes*per, 3), Labels: [][]int64{nil}}
	for i := range s.X.Rows {
		c := i % classes
		s.Labels[0] = append(s.Labels[0], int64(c))
		for j := range 3 {
			s.X.Row(i)[j] = float32(rng.NormFloat64())
		}
		s.X.Row(i)[c%3] += float32(100 * (1 + c/3))
	}
	return s
}

// trap: NaN embeddings reported as some other error.
func TestTrapNaNRowsAreNamed(t *testing.T) {
	s := setOnLine([]int64{1, 1, 2, 2}, 0, 1, float32(math.NaN()), 3)
	for _, m := range []string{"recall@1", "nmi"} {
		ms, err := ParseMetrics(m)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Evaluate(context.Background(), s, nil, Config{Metrics: ms})
		if err == nil || !strings.Contains(err.Error(), "row 2 of the query embeddings holds NaN") {
			t.Errorf("%s: error %v does not name row 2", m, err)
		}
	}
}

// trap: n x n matrices that exhaust memory. 40,000 rows would make 6.4 GB; here
// the buffers are held to 8 MiB and the ranks are right.
func TestTrapNoMatrixOfAllPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("ranks 20,000 rows")
	}
	n := 20000
	labels, at := make([]int64, n), make([]float32, n)
	for i := range n {
		labels[i], at[i] = int64(i/2), float32(i)
	}
	s := setOnLine(labels, at...)
	r := evaluate(t, s, nil, "recall@1,recall@2", func(c *Config) { c.Memory = 8 << 20 })
	// Neighbours i-1 and i+1 tie; the lower index wins, so even rows but the first
	// miss at 1 and all hit at 2.
	requireNear(t, "recall@1", r.Columns[0].get(t, "recall@1"), (float64(n)/2+1)/float64(n))
	requireNear(t, "recall@2", r.Columns[0].get(t, "recall@2"), 1)
}

func TestQueriesWithoutPositiveAreLeftOutAndCounted(t *testing.T) {
	s := setOnLine([]int64{1, 1, 2, 3}, 0, 1, 2, 3)
	c := evaluate(t, s, nil, "recall@1").Columns[0]
	if c.Queries != 2 || c.Excluded != 2 || c.get(t, "recall@1") != 1 {
		t.Errorf("%+v", c)
	}
	ms := []Metric{{Kind: Recall, K: 1}}
	_, err := Evaluate(context.Background(), setOnLine([]int64{1, 2, 3}, 0, 1, 2), nil, Config{Metrics: ms})
	if err == nil || !strings.Contains(err.Error(), "no query has a positive") {
		t.Errorf("only singletons: error %v", err)
	}
}

func TestColumnsOfLabelsAreIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	n := 120
	s := Set{X: matrix.New(n, 3), Labels: [][]int64{make([]int64, n), make([]int64, n)}}
	for i := range n {
		s.Labels[0][i], s.Labels[1][i] = int64(rng.IntN(4)), int64(rng.IntN(30))
		for j := range 3 {
			s.X.Row(i)[j] = float32(rng.NormFloat64())
		}
	}
	const metrics = "recall@1,recall@5,map@r,r-precision,map,mrr,ndcg,precision@3"
	both := evaluate(t, s, nil, metrics)
	for c := range s.Labels {
		alone := evaluate(t, Set{X: s.X, Labels: s.Labels[c : c+1]}, nil, metrics)
		for i, v := range both.Columns[c].Values {
			requireNear(t, v.Metric.String(), v.Value, alone.Columns[0].Values[i].Value)
		}
	}
}

// Rows, columns of coordinates and names of labels in another order change
// nothing; moving and, for the cosine, stretching neither.
func TestMeasuresAreInvariant(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	n, d := 90, 5
	s := Set{X: matrix.New(n, d), Labels: [][]int64{make([]int64, n)}}
	for i := range n {
		s.Labels[0][i] = int64(rng.IntN(9))
		for j := range d {
			s.X.Row(i)[j] = float32(rng.NormFloat64())
		}
	}
	const metrics = "recall@1,recall@7,map@r,r-precision,map,mrr,ndcg,ndcg@5,precision@4,map@6"
	rows, axes := rng.Perm(n), rng.Perm(d)
	p := Set{X: matrix.New(n, d), Labels: [][]int64{make([]int64, n)}}
	stretched := Set{X: matrix.New(n, d), Labels: s.Labels}
	for i := range n {
		p.Labels[0][i] = -7 * s.Labels[0][rows[i]]
		for j := range d {
			p.X.Row(i)[j] = s.X.At(rows[i], axes[j]) * 4
			stretched.X.Row(i)[j] = s.X.At(i, j) * float32(int(1)<<(i%5))
		}
	}
	want := evaluate(t, s, nil, metrics)
	got := evaluate(t, p, nil, metrics)
	for i, v := range want.Columns[0].Values {
		requireNear(t, "permuted "+v.Metric.String(), got.Columns[0].Values[i].Value, v.Value)
		if v.Value < 0 || v.Value > 1 {
			t.Errorf("%s is %g", v.Metric, v.Value)
		}
	}
	cosine := func(c *Config) { c.Distance = Cosine }
	want, got = evaluate(t, s, nil, metrics, cosine), evaluate(t, stretched, nil, metrics, cosine)
	for i, v := range want.Columns[0].Values {
		requireNear(t, "stretched "+v.Metric.String(), got.Columns[0].Values[i].Value, v.Value)
	}
}

func TestBootstrapIntervals(t *testing.T) {
	// 400 queries, half of which hit.
	n := 400
	t1 := newQueryMeasures([]Metric{{Kind: Recall, K: 1}}, make([]int64, n), n-1, true)
	for i := range n {
		t1.labels[i] = int64(i / 10)
		ranks := []int32{int32(1 + (i/10)%2)}
		t1.add(RankedQuery{Index: i, Positives: 9, Ranks: ranks})
	}
	v := []Value{{}}
	t1.addQueryIntervals(context.Background(), Config{Bootstrap: 2000, Seed: 3}, 0.95, v)
	q := v[0].ByQuery
	se := 0.5 / math.Sqrt(float64(n))
	if math.Abs(q.High-q.Low-2*1.96*se) > 0.3*se {
		t.Errorf("%+v, want a width of %.3f", q, 2*1.96*se)
	}
	again := []Value{{}}
	t1.addQueryIntervals(context.Background(), Config{Bootstrap: 2000, Seed: 3}, 0.95, again)
	if *again[0].ByQuery != *q {
		t.Error("the same seed gives another interval")
	}
}

func TestPerClassAndWorst(t *testing.T) {
	// Class 1 is perfect, of class 2 one query misses; row 5 is the worst.
	s := setOnLine([]int64{1, 1, 2, 2, 2, 2}, 0, 1, 100, 101, 103, 3)
	for _, g := range []*Set{nil, {X: s.X, Labels: s.Labels}} {
		r := evaluate(t, s, g, "recall@1,mrr", func(c *Config) { c.PerClass, c.NumWorst = true, 2 })
		col := r.Columns[0]
		var mean float64
		for _, k := range col.PerClass {
			mean += k.Values[1] * float64(k.Queries) / 6
		}
		requireNear(t, "mean over classes", mean, col.get(t, "mrr"))
		if g != nil {
			continue // every query finds itself
		}
		if len(col.PerClass) != 2 || col.PerClass[0].Values[0] != 1 || col.PerClass[1].Values[0] != 0.75 {
			t.Errorf("classes %+v", col.PerClass)
		}
		w := col.Worst[0]
		if w.Index != 5 || w.FirstRank != 3 || w.Positives != 3 || w.Neighbours[0] != 1 || w.NeighbourLabels[0] != 1 ||
			len(w.Neighbours) != 5 || slices.Contains(w.Neighbours, 5) {
			t.Errorf("worst %+v", w)
		}
	}
}

func TestReportInEveryForm(t *testing.T) {
	s := drawBlobs(3, 10)
	s.Labels = append(s.Labels, s.Labels[0])
	r := evaluate(t, s, nil, "recall@1,nmi", func(c *Config) {
		c.Columns, c.Bootstrap, c.PerClass, c.NumWorst = []string{"label", "fine"}, 20, true, 1
		c.Names = []map[int64]string{{0: "a|b"}}
	})
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Metrics           map[string]float64
		Queries, Excluded *int
		Columns           map[string]struct{ Metrics map[string]float64 }
		Intervals         map[string]struct {
			ByQuery [2]float64 `json:"by_query"`
		}
		Clusterings []struct{ K int }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Metrics["recall@1"] != 1 || *doc.Queries != 30 || *doc.Excluded != 0 ||
		doc.Columns["fine"].Metrics["nmi"] != doc.Metrics["nmi"] ||
		doc.Intervals["recall@1"].ByQuery != [2]float64{1, 1} || doc.Clusterings[0].K != 3 {
		t.Errorf("%s", b)
	}
	var text, md, table, classes strings.Builder
	for _, f := range []error{r.WriteText(&text), r.WriteMarkdown(&md), r.WriteCSV(&table),
		r.WriteClassesCSV(&classes)} {
		if f != nil {
			t.Fatal(f)
		}
	}
	for _, want := range []string{"recall@1", "1.0000", "k-means: K 3", "worst queries", "by classes", "a|b"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	if !strings.Contains(md.String(), `a\|b`) {
		t.Errorf("a bar in a name breaks the Markdown table:\n%s", md.String())
	}
	for name, s := range map[string]string{"values": table.String(), "classes": classes.String()} {
		rows, err := csv.NewReader(strings.NewReader(s)).ReadAll()
		if err != nil || len(rows) < 4 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
}

func TestParseMetrics(t *testing.T) {
	ms, err := ParseMetrics(" Recall@1, recall@1..3,map@r ,map@5,map,nmi+10,nmi,ami-geometric+2,ndcg@7")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range ms {
		names = append(names, m.String())
	}
	if got := strings.Join(names,
		" "); got != "recall@1 recall@2 recall@3 map@r map@5 map nmi+10 nmi ami-geometric+2 ndcg@7" {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{"", ",", "recall", "recall@0", "recall@-1", "recall@x", "recall@3..1",
		"recall@1..99999", "nmi+0", "nmi+x", "map@r+2", "nmi@3", "mrr@3", "bogus"} {
		if _, err := ParseMetrics(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestEvaluateRejects(t *testing.T) {
	s := setOnLine([]int64{1, 1, 2}, 0, 1, 2)
	recall := []Metric{{Kind: Recall, K: 1}}
	for _, c := range []struct {
		name, want string
		q          Set
		g          *Set
		cfg        Config
	}{
		{"no metric", "no metric", s, nil, Config{}},
		{"no labels", "no labels", Set{X: s.X}, nil, Config{Metrics: recall}},
		{"counts", "2 query labels", Set{X: s.X, Labels: [][]int64{{1, 2}}}, nil, Config{Metrics: recall}},
		{"assignments", "3 class labels, but 2", s, nil,
			Config{Metrics: []Metric{{Kind: NMI}}, Assignments: []int64{1, 2}}},
		{"factor", "cannot use given assignments", s, nil,
			Config{Metrics: []Metric{{Kind: NMI, Factor: 2}}, Assignments: []int64{1, 2, 3}}},
		{"K", "nmi+10 by \"label\" needs k-means with 2 x 10 clusters (classes x factor), and there are 3 rows", s, nil,
			Config{Metrics: []Metric{{Kind: NMI, Factor: 10}}}},
		{"confidence", "confidence 1", s, nil, Config{Metrics: recall, Bootstrap: 10, Confidence: 1}},
		{"dimensions", "2 dimensions, but the gallery has 1", Set{X: matrix.New(1, 2), Labels: [][]int64{{1}}}, &s,
			Config{Metrics: recall}},
	} {
		_, err := Evaluate(context.Background(), c.q, c.g, c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestRecallAtAgreesWithEvaluate(t *testing.T) {
	s := setOnLine([]int64{1, 2, 1, 2, 7}, 5, 5, 9, 0, 1)
	got, err := RecallAt(context.Background(), s.X, s.Labels[0], Euclidean, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := evaluate(t, s, nil, "recall@1..3").Columns[0]
	for i, v := range r.Values {
		requireNear(t, v.Metric.String(), got[i], v.Value)
	}
	if got[0] != 0.25 { // of the four that have another of their label
		t.Errorf("recall@1 is %v", got[0])
	}
	if _, err := RecallAt(context.Background(), s.X, s.Labels[0], Euclidean, 0); err == nil {
		t.Error("recall@0: no error")
	}
	_, err = RecallAt(context.Background(), s.X, []int64{1, 2, 3, 4, 5}, Euclidean, 1)
	if err == nil || !strings.Contains(err.Error(), "no two rows have the same label") {
		t.Errorf("classes of one: %v", err)
	}
}

// TestMeasuresAreOfOneSort: each kind is listed once, with the function of one sort, and the
// names that are listed are those that are read and written.
func TestMeasuresAreOfOneSort(t *testing.T) {
	seen := map[Kind]bool{}
	for _, e := range measures {
		sorts := 0
		for _, of := range []bool{e.isRanking(), e.isClustering(), e.pairs != nil, e.list != nil, e.isProbes()} {
			if of {
				sorts++
			}
		}
		if sorts != 1 || seen[e.kind] || e.takesK() && !e.isRanking() || e.isResampled() != (e.pairs != nil) {
			t.Errorf("%s: %d sorts, listed before: %v", e.kind, sorts, seen[e.kind])
		}
		seen[e.kind] = true
		for _, form := range e.nameForms() {
			name := strings.NewReplacer("RATE", "0.1", "@K", "@7").Replace(form)
			m, err := ParseMetric(name)
			if err != nil || m.Kind != e.kind || m.String() != name {
				t.Errorf("%s is read as %v of kind %s, %v", name, m, m.Kind, err)
			}
		}
	}
}
