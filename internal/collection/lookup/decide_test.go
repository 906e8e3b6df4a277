package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
)

const dim = 6

// newThings draws some rows of each class from to to, with their names.
func newThings(from, to, each int) (*matrix.Dense, []string) {
	x := matrix.New(each*(to-from), dim)
	var names []string
	rng := rand.New(rand.NewPCG(uint64(from), 7))
	for c := from; c < to; c++ {
		centre := rand.New(rand.NewPCG(uint64(c), 8))
		var at [dim]float64
		for k := range at {
			at[k] = centre.NormFloat64()
		}
		for range each {
			for k := range at {
				x.Row(len(names))[k] = float32(at[k] + 0.15*rng.NormFloat64())
			}
			names = append(names, fmt.Sprintf("thing %d", c))
		}
	}
	return x, names
}

// countingGallery is a gallery that remembers how many neighbours were asked for, and of how many queries.
type countingGallery struct {
	Gallery
	most, queries int
}

func (c *countingGallery) searchNear(ctx context.Context, list []Query, k int, opt *Options) ([]api.Answer, error) {
	if !opt.Exact {
		return nil, errors.New("not exact")
	}
	c.most, c.queries = max(c.most, k), max(c.queries, len(list))
	return c.Gallery.searchNear(ctx, list, k, opt)
}

// newIdentifierTest is 300 photos of 38 classes, two of which are not in the gallery of 40.
func newIdentifierTest(t *testing.T) (*Identifier, *countingGallery) {
	t.Helper()
	x, names := newThings(0, 60, 8)
	ids, labels := map[string]int64{}, make([]int64, len(names))
	for i, n := range names {
		if _, ok := ids[n]; !ok {
			ids[n] = int64(len(ids))
		}
		labels[i] = ids[n]
	}
	says, err := decide.Calibrate(t.Context(), x, labels, decide.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	items, classes := newThings(100, 140, 40)
	classes[4*40] = "" // an item without a label, which votes about photos of its class
	g := &countingGallery{Gallery: &Table{Set: &Set{Table: &embedding.Table{X: items,
		Columns: []embedding.Column{embedding.NewColumn("label", classes)}}}, Name: "G.csv"}}
	a := &Identifier{Gallery: g, Says: says, File: "C.json"}
	photos, of := newThings(104, 142, 8)
	for i := range 300 {
		a.Queries = append(a.Queries, Query{Name: of[i], Vector: photos.Row(i)})
	}
	return a, g
}

// defaultOptions are what the command line says without a flag.
func defaultOptions() *IdentifyOptions {
	o := &IdentifyOptions{ByClass: true, Given: func(string) bool { return false }}
	o.FPIR, o.Strangers = 0.05, 0.5
	return o
}

// Every photo is decided about, in its place, and neighbours are asked for until the sets of a coverage need no more.
func TestRun(t *testing.T) {
	a, g := newIdentifierTest(t)
	res, err := a.Run(t.Context(), defaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Queries) != 300 || res.Items != 1600 || res.Classes != 41 || g.most != a.Decider.NumVoters() ||
		g.queries != searchBatch {
		t.Fatalf("%d of %d, %d: %d neighbours of %d", len(res.Queries), res.Items, res.Classes, g.most, g.queries)
	}
	right := 0
	for i, q := range res.Queries {
		if q.Query != a.Queries[i].Name || len(q.Of) != 1 || q.Of[0] != i || q.Voters[0] != nil {
			t.Fatalf("query %d: %+v", i, q)
		}
		if q.Label == q.Query && !q.Unknown {
			right++
		}
	}
	if s := res.Summary; right < 100 || s.Named+s.Unknown != 300 || len(s.Rates) != len(SummaryRates()) {
		t.Errorf("%d right, %+v", right, s)
	}
	wide := defaultOptions()
	wide.Coverage, wide.Voters, wide.ByClass = 0.95, true, false
	if res, err = a.Run(t.Context(), wide); err != nil {
		t.Fatal(err)
	}
	if g.most <= a.Decider.NumVoters() || len(res.Queries[7].Voters[0]) != a.Decider.NumVoters() || res.ByClass != 0 {
		t.Errorf("up to %d neighbours, %d kept, %d by class", g.most, len(res.Queries[7].Voters[0]), res.ByClass)
	}
	voted := 0
	for i, q := range res.Queries {
		for _, n := range q.Voters[0] {
			switch n.Label {
			case "":
				t.Fatalf("query %d: %+v", i, n)
			case decide.Unlabelled:
				voted++
			}
		}
	}
	if voted == 0 {
		t.Error("the item without a label is no voter")
	}
}

// All photos together are one decision, whatever the order in which they settled.
func TestTogether(t *testing.T) {
	a, _ := newIdentifierTest(t)
	a.Queries = a.Queries[:8]
	opt := defaultOptions()
	opt.Together, opt.FPIR, opt.Coverage = true, 0.2, 0.8
	res, err := a.Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if q := res.Queries; len(q) != 1 || q[0].Label != "thing 104" || q[0].Photos != 8 || len(q[0].Names) != 8 ||
		len(q[0].Of) != 8 {
		t.Errorf("%+v", res.Queries)
	}
	a.Queries = nil
	if res, err := a.Run(t.Context(), opt); err != nil || len(res.Queries) != 0 {
		t.Errorf("of nothing: %+v, %v", res, err)
	}
}

// What cannot be decided by the calibration is refused with the way out.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*Identifier, *IdentifyOptions){
		"possible rates: --fpir": func(_ *Identifier, o *IdentifyOptions) { o.FPIR = 1e-6 },
		"another network made them": func(a *Identifier, _ *IdentifyOptions) {
			a.Queries[299].Vector = make([]float32, dim+1)
		},
		"closed": func(_ *Identifier, o *IdentifyOptions) { o.Closed = true }, // a calibration without a closed set
		"C.json: ": func(a *Identifier, _ *IdentifyOptions) {
			a.Source.Fingerprint, a.Says.Source.Fingerprint = "another", "one"
		},
	} {
		a, _ := newIdentifierTest(t)
		opt := defaultOptions()
		change(a, opt)
		if _, err := a.Run(t.Context(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The table has the undecided first.
func TestWrite(t *testing.T) {
	res := &Decisions{Queries: []Decision{
		{Identification: api.Identification{Query: "sure", Vote: api.Vote{Label: "a", Probability: 0.99}}},
		{Identification: api.Identification{Query: "here", Vote: api.Vote{Label: "c", Probability: 0.9, Unknown: true},
			PhotoIDs: []string{"1", "2"}, PhotoLabels: []string{"d", "d"}}},
		{Identification: api.Identification{Query: "unsure", Vote: api.Vote{Label: "b", Probability: 0.6, RunnerUp: "a",
			Set: []string{"b", "a"}}}},
		{Identification: api.Identification{Query: "two", Vote: api.Vote{Label: "b", Probability: 0.6,
			Set: []string{"b"}}, PhotoIDs: []string{"1", "2"}, PhotoLabels: []string{"d", ""}}},
		{Identification: api.Identification{Query: "strange", Vote: api.Vote{Label: "c", Probability: 0.9,
			Unknown: true}}}}}
	for i := range res.Queries {
		res.Queries[i].setAnswer()
	}
	var b bytes.Buffer
	if err := res.Write(&b); err != nil {
		t.Fatal(err)
	}
	if want := "path,label,probability,runner_up,unknown,set,answer,itself,others_label,others_probability," +
		"others_unknown\nstrange,c,0.9000,,true,,unknown,,,,\n" +
		"two,,0.0000,,false,d|(no label),picture,1|2,b,0.6000,false\n" +
		"unsure,b,0.6000,a,false,b|a,label,,,,\nsure,a,0.9900,,false,,label,,,,\n" +
		"here,d,1.0000,,false,,picture,1|2,c,0.9000,true\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}
