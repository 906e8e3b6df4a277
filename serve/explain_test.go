package serve

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// makeHits makes neighbours of classes, "" for none, at distances of 1, 2, ... times a step.
func makeHits(step float64, classes ...string) []api.Neighbour {
	var out []api.Neighbour
	for i, c := range classes {
		h := api.Neighbour{Label: c, Hit: store.Hit{Distance: step * float64(i+1)}}
		if c != "" {
			h.Columns = map[string]any{"kind": c}
		}
		out = append(out, h)
	}
	return out
}

// Classes are counted with the nearest and the farthest of each, the most frequent first, of
// equals by name; the shares are of all hits.
func TestShares(t *testing.T) {
	got := countClasses(makeHits(1, "b", "a", "", "c", "c", "a", "c", ""))
	want := []api.Share{{Class: "c", Count: 3, Share: 3. / 8, Nearest: 4, Farthest: 7},
		{Class: "a", Count: 2, Share: 2. / 8, Nearest: 2, Farthest: 6},
		{Class: "b", Count: 1, Share: 1. / 8, Nearest: 1, Farthest: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := countClasses(makeHits(1, "", "")); got == nil || len(got) != 0 {
		t.Errorf("of none %v", got)
	}
}

func TestDistances(t *testing.T) {
	for _, c := range []struct {
		n    int
		step float64
		want api.Distances
	}{
		{0, 1, api.Distances{}},
		{1, 2, api.Distances{Nearest: 2, Median: 2, Farthest: 2}},
		{4, 1, api.Distances{Nearest: 1, Median: 2.5, Farthest: 4, Contrast: 0.75}},
		{5, 1, api.Distances{Nearest: 1, Median: 3, Farthest: 5, Contrast: 0.8}},
		{3, 0, api.Distances{}},
		{2, -1, api.Distances{Nearest: -2, Median: -1.5, Farthest: -1}}, // minus a product
	} {
		if got := describeDistances(makeHits(c.step, make([]string, c.n)...)); got != c.want {
			t.Errorf("%d hits: %+v, want %+v", c.n, got, c.want)
		}
	}
}

// What the numbers do, in sentences.
func TestNotes(t *testing.T) {
	of := func(class string, nearest, farthest float64, counts ...int) *api.Explanation {
		e := &api.Explanation{Class: class}
		for i, n := range counts {
			e.Shares = append(e.Shares, api.Share{Class: string(rune('a' + i)), Count: n})
		}
		e.Distances = api.Distances{Nearest: nearest, Farthest: farthest}
		if farthest > 0 {
			e.Distances.Contrast = (farthest - nearest) / farthest
		}
		return e
	}
	for _, c := range []struct {
		e    *api.Explanation
		want string
	}{
		{of("", 1, 2, 6, 2), "6 of 8 neighbours are of one class, a."},
		{of("b", 1, 2, 6, 2), "2 of 8 neighbours are of the class of the query item, b."},
		{of("z", 1, 2, 6, 2), "0 of 8 neighbours are of the class of the query item, z."},
		{of("", 1, 2), ""},
		{of("", 0, 0, 1), "1 of 1 neighbours are of one class, a."},
		{of("", 0, 0, 2), "2 of 2 neighbours are of one class, a.|" +
			"All neighbours are at distance 0: their order has no meaning."},
		{of("", 9.5, 10), "The farthest neighbour is only 5 % farther than the nearest: their order says little."},
		{of("", 9, 10), ""}, // a tenth is enough
		{of("", -3, -1, 2), "2 of 2 neighbours are of one class, a."},
	} {
		if got := strings.Join(describeResult(c.e), "|"); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// The one class of all that have one, which may be no text, and its filter.
func TestSingle(t *testing.T) {
	for _, c := range []struct {
		classes []string
		want    string
		ok      bool
	}{{[]string{"a", "", "a"}, "a", true}, {[]string{"a", "b"}, "", false}, {[]string{"", ""}, "", false},
		{nil, "", false}, {[]string{"", "b"}, "b", true}} {
		got, ok := singleClass(makeHits(1, c.classes...), "kind")
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %v, %v", c.classes, got, ok)
		}
	}
}

// askedStore is a store that knows how many neighbours it was asked for, and by which filters.
type askedStore struct {
	*storetest.Memory
	k       int // the last of ks
	ks      []int
	filters []string
}

func (a *askedStore) Search(ctx context.Context, q store.Query) ([]store.Hit, error) {
	a.k, a.ks = q.K, append(a.ks, q.K)
	if q.Filter != "" {
		a.filters = append(a.filters, q.Filter)
	}
	return a.Memory.Search(ctx, q)
}

// To explain neighbours, more of them are asked for, but no more than a request may have.
func TestExplainAsksFor(t *testing.T) {
	for _, c := range []struct{ limit, k, want int }{{0, 5, neighbourhoodItems}, {0, 300, 300}, {50, 5, 50},
		{50, 50, 50}} {
		a := &askedStore{Memory: newFilledStore(t, 5)}
		var opt Options
		opt.Collections, opt.Limits.K = []Collection{{Name: "things", Store: a}}, c.limit
		do := &caller{t: t, s: newServer(t, opt)}
		do.json("POST", "/v1/explain", api.Search{Vector: []float32{1, 0, 0}, K: c.k}).want(t, 200)
		if a.k != c.want {
			t.Errorf("%+v: asked for %d", c, a.k)
		}
	}
}

// Where all items around the query are of one class, those of other classes are asked for, of
// those that pass the query's own filter.
func TestExplainAsksForOthers(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{`label = "red"`, `label = "red"|(label = "red") and ` + "`label` != \"red\""},
		{`price < 2 and label = "red" or price > 90`, `price < 2 and label = "red" or price > 90|` +
			`(price < 2 and label = "red" or price > 90) and ` + "`label` != \"red\""},
		{`price < 2`, `price < 2`}, // of all classes
	} {
		a := &askedStore{Memory: newFilledStore(t, 5)}
		do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "things", Store: a}}})}
		do.json("POST", "/v1/explain", api.Search{Vector: []float32{1, 0, 0}, Filter: c.filter}).want(t, 200)
		if got := strings.Join(a.filters, "|"); got != c.want {
			t.Errorf("%s: asked by %s, want %s", c.filter, got, c.want)
		}
	}
	a := &askedStore{Memory: &storetest.Memory{Dim: 1}}
	if err := a.Put(t.Context(), []store.Item{{ID: "a", Vector: []float32{1},
		Columns: map[string]any{"label": "red"}}}, store.Insert); err != nil {
		t.Fatal(err)
	}
	do := &caller{t: t, s: newServer(t, Options{Collections: []Collection{{Name: "things", Store: a}}})}
	do.json("POST", "/v1/explain", api.Search{Vector: []float32{1}}).want(t, 200)
	if got := strings.Join(a.filters, "|"); got != "`label` != \"red\"" {
		t.Errorf("without a filter asked by %s", got)
	}
}

// The calibration's sentence has the sum of the probabilities, the first and the last.
func TestLikelihood(t *testing.T) {
	p := func(v float64) api.Neighbour { return api.Neighbour{MatchProbability: &v} }
	for closed, from := range map[bool]string{false: "classes", true: "photos"} {
		got := describeLikelihood([]api.Neighbour{p(0.9), p(0.6), p(0.25)}, closed)
		want := "Judged by distance alone, 1.8 of 3 neighbours are expected to show the same thing: the nearest " +
			"with a " +
			"probability of 90 %, the farthest with 25 %. This estimate is for " + from + " that training never " +
			"saw, if half of the queries are of no class here. It does not use labels, which tell more if there " +
			"are any."
		if len(got) != 1 || got[0] != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := describeLikelihood([]api.Neighbour{p(0.9)}, false); len(got) != 1 ||
		!strings.Contains(got[0], "the farthest with 90 %") {
		t.Errorf("of one %q", got)
	}
	if got := append(describeLikelihood(nil, false), describeLikelihood([]api.Neighbour{{}, p(1)},
		false)...); got != nil {
		t.Errorf("without a calibration %q", got)
	}
}
