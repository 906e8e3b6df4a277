package serve

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// drawSpots are photos of classes from to to, eight of each, around places that a class has for
// itself.
func drawSpots(from, to int) (*matrix.Dense, []int64) {
	x, labels := matrix.New(8*(to-from), 3), []int64{}
	rng := rand.New(rand.NewPCG(uint64(from), 1))
	for c := from; c < to; c++ {
		place := rand.New(rand.NewPCG(uint64(c), 2))
		at := [3]float64{place.NormFloat64(), place.NormFloat64(), place.NormFloat64()}
		for range 8 {
			row := x.Row(len(labels))
			for k := range row {
				row[k] = float32(at[k] + 0.02*rng.NormFloat64())
			}
			labels = append(labels, int64(c))
		}
	}
	return x, labels
}

// calibrateSpots is a calibration on 60 such classes.
func calibrateSpots(t testing.TB) *decide.Calibration {
	t.Helper()
	x, labels := drawSpots(0, 60)
	c, err := decide.Calibrate(t.Context(), x, labels, decide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serveSpots serves a collection of 20 other classes, whose last of the eight photos
// are not in it.
func serveSpots(t testing.TB) (*caller, *storetest.Memory) {
	t.Helper()
	m := &storetest.Memory{Dim: 3}
	x, labels := drawSpots(100, 120)
	for i, l := range labels {
		it := store.Item{ID: fmt.Sprint(i), Vector: x.Row(i), Columns: map[string]any{"label": fmt.Sprint("spot ", l)}}
		if i%8 == 7 {
			continue
		}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	s := newServer(t, Options{Collections: []Collection{{Name: "spots", Store: m, Calibration: calibrateSpots(t)}}})
	return &caller{t: t, s: s, contract: newContract(t)}, m
}

// checkIdentify brings about the answers of POST /v1/identify.
func checkIdentify(t *testing.T, do *caller) {
	const ask = "/v1/identify"
	do.json("POST", ask, api.Identify{Vectors: [][]float32{{1, 0, 0}}, IDs: []string{"red/001"}, FPIR: 0.1,
		Strangers: 0.2, Coverage: 0.9}).want(t, 200)
	do.form("POST", ask, encodeJPEG(t, plainPicture(40, 40, blue)), "fpir", "0.1").want(t, 200)
	do.form("POST", ask, encodeJPEG(t, plainPicture(40, 40, blue)), "fpir", "low").want(t, 400, "bad_request")
	do.form("POST", ask, encodeJPEG(t, plainPicture(40, 40, blue)), "coverage", "0.9", "by_class", "false").want(t, 200)
	do.form("POST", ask, encodeJPEG(t, plainPicture(40, 40, blue)), "by_class", "perhaps").want(t, 400, "bad_request")
	do.json("POST", ask, api.Identify{}).want(t, 422, "invalid")
	do.json("POST", ask, api.Identify{IDs: []string{"nothing"}}).want(t, 404, "not_found")
	do.json("POST", ask, api.Identify{IDs: slices.Repeat([]string{"a"}, 17)}).want(t, 413, "too_large")
	do.json("POST", ask, api.Identify{Vectors: [][]float32{{1}}}).want(t, 422, "invalid")
	do.json("POST", ask, api.Identify{IDs: []string{"red/001"}, FPIR: 1e-9}).want(t, 422, "invalid")
	do.json("POST", ask, api.Identify{IDs: []string{"red/001"}, Coverage: 2}).want(t, 422, "invalid")
	do.do("POST", ask, "text/plain", []byte("hello")).want(t, 415, "unsupported_media_type")
	do.json("POST", ask+"?collection=vectors", api.Identify{Vectors: [][]float32{{1, 0, 0}}}).want(t, 422, "invalid")
	do.json("POST", "/v1/search?collection=vectors", map[string]any{"vector": []float32{1, 0, 0}, "least": 0.5}).
		want(t, 422, "invalid")
	do.json("POST", "/v1/search", map[string]any{"vector": []float32{1, 0, 0}, "least": 1.5}).want(t, 422, "invalid")
}

// TestIdentify: photos of classes of the collection get their label, alone and together,
// strangers are unknown, and the metrics count both.
func TestIdentify(t *testing.T) {
	do, _ := serveSpots(t)
	x, labels := drawSpots(100, 140)
	right, let := 0, 0
	for i := 7; i < len(labels); i += 8 {
		var got api.Identified
		do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{x.Row(i)}, Coverage: 0.9}).want(t, 200).
			into(t, &got)
		want := fmt.Sprint("spot ", labels[i])
		switch {
		case got.Items != 140 || got.Classes != 20 || got.Photos != 1 || got.NeededProbability <= 0:
			t.Fatalf("%+v", got)
		case labels[i] < 120 && got.Label == want && !got.Unknown && got.Probability > 0.5 &&
			slices.Contains(got.Set, want):
			right++
		case labels[i] >= 120 && !got.Unknown:
			let++
		}
	}
	if right < 16 || let > 2 {
		t.Errorf("%d of 20 are right, %d of 20 strangers let in", right, let)
	}
	// Items that are asked with do not answer for themselves.
	var got api.Identified
	do.json("POST", "/v1/identify", api.Identify{IDs: []string{"0", "1", "2"}, FPIR: 0.2}).want(t, 200).into(t, &got)
	if got.Label != "spot 100" || got.Photos != 3 || got.Nearest == 0 || got.Unknown {
		t.Errorf("%+v", got)
	}
	text := string(do.get("/metrics").want(t, 200).body)
	for _, want := range []string{`kindred_identified_total{collection="spots",unknown="true"} `,
		`kindred_identified_total{collection="spots",unknown="false"} `,
		`kindred_nearest_distance_count{collection="spots"} 43`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// TestLeast: neighbours come with probabilities, and least cuts them, in search and in
// explain, whose notes add them up.
func TestLeast(t *testing.T) {
	do, m := serveSpots(t)
	var all, cut api.Found
	do.json("POST", "/v1/search", api.Search{ID: "0", K: 20}).want(t, 200).into(t, &all)
	do.json("POST", "/v1/search", api.Search{ID: "0", K: 20, MinProbability: 0.5}).want(t, 200).into(t, &cut)
	kept, sum, last := 0, 0.0, 1.0
	for _, n := range all.Neighbours {
		p := option.OrDefault(n.MatchProbability, -1)
		if p < 0 || p > last {
			t.Errorf("probability %g after %g", p, last)
		}
		if last = p; p >= 0.5 {
			kept++
			sum += p
		}
	}
	if len(all.Neighbours) != 20 || kept == 0 || kept > 8 || len(cut.Neighbours) != kept {
		t.Errorf("%d of %d are kept, want %d", len(cut.Neighbours), len(all.Neighbours), kept)
	}
	var e api.Explanation
	do.json("POST", "/v1/explain", api.Search{ID: "0", K: 20, MinProbability: 0.5}).want(t, 200).into(t, &e)
	want := fmt.Sprintf("Judged by distance alone, %.1f of %d neighbours are expected", sum, kept)
	if notes := strings.Join(e.Notes, " "); !strings.Contains(notes, want) || len(e.Neighbours) != kept {
		t.Errorf("%q, want %q", notes, want)
	}
	// What is likely changes with the labels that there are.
	same := option.OrDefault(all.Neighbours[0].MatchProbability, 0)
	for i := range 400 {
		it := store.Item{ID: fmt.Sprint("new ", i), Vector: []float32{1e3, 0, 0},
			Columns: map[string]any{"label": fmt.Sprint("far ", i)}}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	do.s.collections[0].labelCounts.mu.Lock()
	do.s.collections[0].labelCounts.next = do.s.collections[0].labelCounts.next.Add(-1e12) // it is time to count again
	do.s.collections[0].labelCounts.mu.Unlock()
	do.json("POST", "/v1/search", api.Search{ID: "0", K: 20}).want(t, 200).into(t, &all)
	if now := option.OrDefault(all.Neighbours[0].MatchProbability, 0); !(now < same) {
		t.Errorf("among more classes the nearest is as likely: %g, before %g", now, same)
	}
}

// TestInfoCalibration: what is promised is told, for the collection as it is.
func TestInfoCalibration(t *testing.T) {
	do, _ := serveSpots(t)
	var in api.Info
	do.get("/v1/info").want(t, 200).into(t, &in)
	c := in.Collections[0].Calibration
	if c == nil || c.Classes != 60 || c.Photos != 480 || len(c.FalseMatches) != 2 || c.Unknown == nil {
		t.Fatalf("%+v", c)
	}
	for _, th := range append(c.FalseMatches, *c.Unknown) {
		if !(th.Bound <= th.Rate && th.Measured <= th.Bound) || math.IsNaN(th.Distance) {
			t.Errorf("%+v", th)
		}
	}
}

// TestInfoDrift: a collection whose classes lie nearer to each other than those of the calibration is told to, with the
// sentence of kindred identify.
func TestInfoDrift(t *testing.T) {
	m := &storetest.Memory{Dim: 3}
	x, labels := drawSpots(100, 160)
	for i, l := range labels { // a hundredth of the scale
		for k := range x.Row(i) {
			x.Row(i)[k] /= 100
		}
		it := store.Item{ID: fmt.Sprint(i), Vector: x.Row(i), Columns: map[string]any{"label": fmt.Sprint("any ", l)}}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	s := newServer(t, Options{Collections: []Collection{{Name: "spots", Store: m, Calibration: calibrateSpots(t)}}})
	do := &caller{t: t, s: s, contract: newContract(t)}
	var in api.Info
	do.get("/v1/info").want(t, 200).into(t, &in)
	u := in.Collections[0].Calibration.Unknown
	if u == nil || u.Drift < 0.2 || !strings.Contains(u.Condition, "the gallery is not like the photos of the "+
		"calibration: of its own items ") || !strings.Contains(u.Condition, "of unknown photos may get a label") {
		t.Errorf("%+v", u)
	}
}

// TestOtherCalibration: one for another distance or other vectors is refused.
func TestOtherCalibration(t *testing.T) {
	other := *calibrateSpots(t)
	other.Distance = eval.Cosine
	for _, c := range []Collection{{Name: "spots", Store: &storetest.Memory{Dim: 4}, Calibration: calibrateSpots(t)},
		{Name: "spots", Store: &storetest.Memory{Dim: 3}, Calibration: &other}} {
		_, err := New(Options{Collections: []Collection{c}})
		if err == nil || !strings.Contains(err.Error(), "kindred calibrate") {
			t.Errorf("%v", err)
		}
	}
}

// TestMostTogether: a request may have up to 16 photos of one thing, vectors and ids
// together.
func TestMostTogether(t *testing.T) {
	do, _ := serveSpots(t)
	x, _ := drawSpots(100, 120)
	for n, status := range map[int]int{1: 200, maxPhotosTogether: 200, maxPhotosTogether + 1: 413} {
		a := api.Identify{IDs: []string{"0"}}
		for i := range n - 1 {
			a.Vectors = append(a.Vectors, x.Row(i))
		}
		do.json("POST", "/v1/identify", a).want(t, status)
	}
}

// For a set, neighbours are asked for until the farthest is out of reach, or there are no more,
// each time four times as many, up to the limit of a request.
func TestVotersUntilOutOfReach(t *testing.T) {
	const (
		voters = 32 // of package decide
		spare  = 8  // items more, as some may be the photo itself, up to the limit
	)
	calibration := calibrateSpots(t)
	for _, c := range []struct {
		same, others, limit int
		coverage            float64
		ks                  []int
		status              int
	}{
		{7, 40, 1000, 0.9, []int{voters + spare}, 200},          // the next one is of another class
		{voters - 1, 40, 1000, 0.9, []int{voters + spare}, 200}, // the last one asked for is
		{voters, 40, 1000, 0.9, []int{voters + spare, 4*voters + spare}, 200},
		{voters, 40, 1000, 0, []int{voters + spare}, 200},                    // no set, no reach
		{voters, 0, 1000, 0.9, []int{voters + spare, 4*voters + spare}, 200}, // there are no more
		{5 * voters, 0, 1000, 0.9, []int{voters + spare, 4*voters + spare, 16*voters + spare}, 200},
		{5 * voters, 40, 3 * voters, 0.9, []int{voters + spare, 3*voters + spare}, 422},
		{5, 40, 5, 0.9, []int{5 + 5}, 422},
		{5, 40, 6, 0.9, []int{6 + 6}, 200},
	} {
		a := &askedStore{Memory: &storetest.Memory{Dim: 3}}
		rng := rand.New(rand.NewPCG(1, 2))
		var items []store.Item
		for i := range c.same + c.others {
			it := store.Item{ID: fmt.Sprint(i), Vector: []float32{1, 2, 3}, Columns: map[string]any{"label": "one"}}
			if i >= c.same {
				it.Columns["label"] = fmt.Sprint("other ", i/8)
				it.Vector[0] += float32(50 + i)
			}
			it.Vector[1] += float32(0.001 * rng.NormFloat64())
			items = append(items, it)
		}
		if err := a.Put(t.Context(), items, store.Insert); err != nil {
			t.Fatal(err)
		}
		opt := Options{Collections: []Collection{{Name: "spots", Store: a, Calibration: calibration}}}
		opt.Limits.K = c.limit
		do := &caller{t: t, s: newServer(t, opt)}
		do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{{1, 2, 3}}, Coverage: c.coverage,
			ByClass: new(false)}).
			want(t, c.status)
		if !slices.Equal(a.ks, c.ks) {
			t.Errorf("%+v: asked for %d", c, a.ks)
		}
	}
}

// TestIdentifyByClass: sets go by the items of a class where there are enough, as decide has it,
// and by those of the calibration where that is asked for; the spread is measured anew when
// items have changed.
//
// Long: what is asked is asked again of the same server before and after a change.
func TestIdentifyByClass(t *testing.T) {
	const coverage = 0.8 // which takes 4 items, of 7
	do, m := serveSpots(t)
	c := do.s.collections[0]
	var x []float32
	var names []string
	reread := func() {
		t.Helper()
		x, names = nil, nil
		for it, err := range m.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			x, names = append(x, it.Vector...), append(names, store.FormatValue(it.Columns["label"]))
		}
	}
	ask := func(i int, byClass *bool, classes int) {
		t.Helper()
		photo, _ := drawSpots(100, 120)
		var got api.Identified
		do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{photo.Row(i)}, Coverage: coverage,
			ByClass: byClass}).want(t, 200).into(t, &got)
		all := matrix.FromSlice(len(names), 3, x)
		g, err := decide.MeasureGallery(t.Context(), c.Calibration, all, names, eval.Euclidean)
		if err != nil {
			t.Fatal(err)
		}
		if classes == 0 {
			g.Spread = nil
		}
		d, err := c.Calibration.Decider(g, decide.IdentifyOptions{Coverage: coverage})
		if err != nil {
			t.Fatal(err)
		}
		to := eval.DistanceFunc(photo, all, eval.Euclidean)
		var near []decide.Neighbour
		for j, l := range names {
			near = append(near, decide.Neighbour{Label: l, Distance: to(i, j)})
		}
		slices.SortStableFunc(near, func(a, b decide.Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
		want, err := d.Decide([]decide.Photo{{Vector: photo.Row(i), Neighbours: near}})
		if err != nil {
			t.Fatal(err)
		}
		if got.ByClass != classes || !slices.Equal(got.Set, want.Set) || got.Label != want.Label {
			t.Errorf("%d classes by their own items, and the set %q, want %d and %q", got.ByClass, got.Set, classes,
				want.Set)
		}
	}
	reread()
	ask(7, nil, 20)
	first := c.deciderCache.Load()
	ask(15, new(true), 20)
	if c.deciderCache.Load() != first {
		t.Error("the same question is prepared for again")
	}
	ask(23, new(false), 0)
	// Two photos of spot 100 that lie far off make it wide, and two more of spot 101 are no change.
	for i, at := range []float32{2, 3} {
		it := store.Item{ID: fmt.Sprint("far ", i), Vector: []float32{at, 9, 9},
			Columns: map[string]any{"label": "spot 100"}}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	info, err := m.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for tries := 0; !c.labelCounts.isVersion(info.Version) || !c.measuresCache.Load().isVersion(info.Version); tries++ {
		if tries == 1000 {
			t.Fatal("nothing is measured anew")
		}
		do.json("POST", "/v1/identify", api.Identify{IDs: []string{"0"}, Coverage: coverage}).want(t, 200)
	}
	if own := (*c.measuresCache.Load().current).Spread["spot 100"]; len(own) != 9 || own[8] != 1 {
		t.Errorf("the items of spot 100 lie %v from each other", own)
	}
	reread()
	ask(7, nil, 20)
	ask(7, new(false), 0)
}

// isVersion reports whether the value is of a version, and allows to compute it again.
func (p *refreshedValue[T]) isVersion(version uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Now().Add(-time.Hour)
	return p.current != nil && p.version == version
}

// TestIdentifyFar: where classes reach farther than the neighbours that are allowed, a set goes
// by the calibration, unless by_class was requested.
func TestIdentifyFar(t *testing.T) {
	do, m := serveSpots(t)
	do.s.limits.K = 100
	for i := range 40 {
		it := store.Item{ID: fmt.Sprint("wide ", i), Vector: []float32{float32(9 * i), 0, 0},
			Columns: map[string]any{"label": "wide"}}
		if err := m.Put(t.Context(), []store.Item{it}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	var got api.Identified
	ask := api.Identify{IDs: []string{"0"}, Coverage: 0.8}
	do.json("POST", "/v1/identify", ask).want(t, 200).into(t, &got)
	if got.ByClass != 0 || !slices.Contains(got.EvaluatedVote().Set, "spot 100") {
		t.Errorf("%+v", got)
	}
	ask.ByClass = new(true)
	do.json("POST", "/v1/identify", ask).want(t, 422, "invalid")
	do.s.limits.K = 1000
	do.json("POST", "/v1/identify", ask).want(t, 200).into(t, &got)
	if got.ByClass != 21 || !slices.Contains(got.EvaluatedVote().Set, "wide") { // its items lie 9 apart
		t.Errorf("%+v", got)
	}
}

// TestIdentifyKnown: a calibration of the collection's own classes names every photo, and with a gate tells strangers
// from them. What does not apply to it is refused.
func TestIdentifyKnown(t *testing.T) {
	x, labels := drawSpots(100, 120)
	of := func(keep func(i int) bool) (out decide.LabelledEmbeddings) {
		var rows []float32
		for i, l := range labels {
			if keep(i) {
				rows, out.Labels = append(rows, x.Row(i)...), append(out.Labels, l)
			}
		}
		out.X = matrix.FromSlice(len(out.Labels), x.Cols, rows)
		return out
	}
	photos, items := of(func(i int) bool { return i%8 == 7 }), of(func(i int) bool { return i%8 != 7 })
	says, err := decide.CalibrateClosed(t.Context(), photos, items, decide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for l := 100; l < 120; l++ {
		says.Closed.Names = append(says.Closed.Names, fmt.Sprint("spot ", l))
	}
	do, m := serveSpots(t)
	stranger := []float32{40, 40, 40}
	for _, gate := range []bool{false, true} {
		if gate {
			others, of := drawSpots(0, 60)
			found, err := decide.SearchStrangers(t.Context(), decide.LabelledEmbeddings{X: others, Labels: of}, items,
				says.Distance)
			if err == nil {
				says.Closed.Gate, err = decide.NewStrangerGate(says.Closed, found, items.X.Rows)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s := newServer(t, Options{Collections: []Collection{{Name: "spots", Store: m, Calibration: says}}})
		do.s = s
		var got api.Identified
		do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{photos.X.Row(3)}}).want(t, 200).into(t, &got)
		if got.Label != "spot 103" || got.Unknown || got.Probability < 0.5 || (got.Within > 0) != gate {
			t.Errorf("gate %v: %+v", gate, got)
		}
		do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{stranger}}).want(t, 200).into(t, &got)
		if got.Unknown != gate {
			t.Errorf("gate %v: a stranger is %+v", gate, got)
		}
		do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{stranger}, Strangers: 0.2}).want(t, 422,
			"invalid")
		asked, all := do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{stranger}, FPIR: 0.2}), true
		if !gate {
			asked.want(t, 422, "invalid")
		} else {
			asked.want(t, 200)
		}
		byClass := api.Identify{Vectors: [][]float32{stranger}, Coverage: 0.9, ByClass: &all}
		do.json("POST", "/v1/identify", byClass).want(t, 422, "invalid")
		do.json("POST", "/v1/identify", api.Identify{Vectors: [][]float32{photos.X.Row(3)}, Coverage: 0.9}).want(t,
			200)
	}
}
