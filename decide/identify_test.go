package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// nearestByLoop is the neighbours of a row among others, by a loop.
func nearestByLoop(x *matrix.Dense, labels []string, q int, gallery []int) (near []Neighbour) {
	for _, i := range gallery {
		if i != q {
			near = append(near, Neighbour{labels[i], rowDistance(0, x.Row(q), x.Row(i))})
		}
	}
	slices.SortStableFunc(near, func(a, b Neighbour) int {
		if a.Distance < b.Distance {
			return -1
		}
		return 1
	})
	return near
}

// TestIdentify calibrates on classes, and identifies photos of others, one and three at
// a time, of which half have their class in the gallery.
func TestIdentify(t *testing.T) {
	x, numbers := drawClusters(11, 160, 8, 8)
	c, err := Calibrate(t.Context(), x.RowRange(0, 640), numbers[:640], Options{})
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]string, len(numbers))
	var gallery []int
	var names []string
	for i, n := range numbers {
		labels[i] = string(rune('A' + n))
		if n >= 80 && n < 120 && i%8 < 5 {
			gallery = append(gallery, i)
			names = append(names, labels[i])
		}
	}
	g := NewGallery(names)
	if g.Classes != 40 || g.Items != 200 || math.Abs(g.Share-1.0/40) > 1e-12 {
		t.Fatalf("%+v", g)
	}
	g, err = MeasureGallery(t.Context(), c, copyRows(x, gallery), names, eval.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Decider(g, IdentifyOptions{FPIR: 0.1, Coverage: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	for _, several := range []int{1, 3} {
		var right, known, said, let, strangers, covered, size float64
		for i := 640; i < len(labels); i += 8 {
			for p := 5; p < 8; p += several {
				var photos []Photo
				for k := range several {
					photos = append(photos, Photo{Vector: x.Row(i + p + k),
						Neighbours: nearestByLoop(x, labels, i+p+k, gallery)})
				}
				got, err := d.Decide(photos)
				if err != nil {
					t.Fatal(err)
				}
				if numbers[i] >= 120 {
					strangers++
					if !got.Unknown {
						let++
					}
					continue
				}
				known++
				said += got.Probability
				if got.Label == labels[i] {
					right++
				}
				if slices.Contains(got.Set, labels[i]) {
					covered++
				}
				size += float64(len(got.Set))
			}
		}
		t.Logf("%d photos: right %.3f, said %.3f, strangers let in %.3f, covered %.3f by %.2f", several, right/known,
			said/known, let/strangers, covered/known, size/known)
		if let/strangers > 0.1 || right/known < 0.8 || covered/known < 0.8 || size/known > 20 {
			t.Errorf("%d photos", several)
		}
	}
}

func TestDecide(t *testing.T) {
	x, labels := drawClusters(4, 60, 6, 6)
	c, err := Calibrate(t.Context(), x.RowRange(0, 240), labels[:240], Options{})
	if err != nil {
		t.Fatal(err)
	}
	items, names := x.RowRange(240, 258), []string{}
	rows := make([]int, items.Rows)
	for i := range items.Rows {
		rows[i], names = i, append(names, string(rune('a'+i/6)))
	}
	g, err := MeasureGallery(t.Context(), c, items, names, eval.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Decider(g, IdentifyOptions{FPIR: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	own := []Member{{"b", items.Row(7)}}
	got, err := d.Decide([]Photo{{items.Row(7), nearestByLoop(items, names, 7, rows), own}})
	if err != nil || got.Label != "b" || got.Unknown || got.Set != nil || got.Probability < got.NeededProbability {
		t.Errorf("%v: %+v", err, got)
	}
	if got.Probability+got.RunnerUpProbability > 1 {
		t.Errorf("probabilities %v and %v", got.Probability, got.RunnerUpProbability)
	}
	far := matrix.New(1, items.Cols)
	for k := range far.Data {
		far.Data[k] = 100
	}
	away, err := d.Decide([]Photo{{far.Data, []Neighbour{{"b", 240}}, nil}})
	if err != nil || !away.Unknown || away.Probability >= got.Probability {
		t.Errorf("%v: %+v", err, away)
	}
	v := items.Row(0)
	for _, photos := range [][]Photo{nil, {{Vector: v}}, {{Vector: v, Neighbours: []Neighbour{{"a", 2}, {"b", 1}}}},
		{{Vector: v, Neighbours: []Neighbour{{"a", math.NaN()}}}},
		{{Vector: v[1:], Neighbours: []Neighbour{{"a", 1}}}}} {
		if _, err := d.Decide(photos); err == nil {
			t.Errorf("%v is decided about", photos)
		}
	}
	for _, opt := range []IdentifyOptions{{FPIR: 2}, {FPIR: 2, Estimate: true}, {Strangers: 1}, {Coverage: 1},
		{Coverage: math.NaN()}} {
		if _, err := c.Decider(g, opt); err == nil {
			t.Errorf("%+v", opt)
		}
	}
	if _, err := c.Decider(g, IdentifyOptions{FPIR: 1e-6}); err == nil ||
		!strings.Contains(err.Error(), "cannot be promised") {
		t.Errorf("1e-6: %v", err)
	}
	if _, err := c.Decider(NewGallery(names), IdentifyOptions{}); err == nil {
		t.Error("a gallery without measures")
	}
	c.Score = nil
	if _, err := c.Decider(g, IdentifyOptions{}); err == nil || !strings.Contains(err.Error(), "make it again") {
		t.Errorf("a calibration without a score: %v", err)
	}
}

// TestEstimate: without a bound more known photos are named, at about the rate.
func TestEstimate(t *testing.T) {
	s := drawnGroups(3, 260, 1, 0, 0)
	n := s.first[100]
	var of []int64
	for _, i := range s.identityOf[:n] {
		of = append(of, int64(i))
	}
	c, err := Calibrate(t.Context(), s.x.RowRange(0, n), of, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	rows := []int{}
	for q := n; q < s.first[120]; q++ {
		rows, names = append(rows, q), append(names, fmt.Sprint(s.identityOf[q]))
	}
	labels := make([]string, s.x.Rows)
	for k, q := range rows {
		labels[q] = names[k]
	}
	g, err := MeasureGallery(t.Context(), c, copyRows(s.x, rows), names, eval.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	var in [2]float64
	var known [2]float64
	for k := range in {
		d, err := c.Decider(g, IdentifyOptions{FPIR: 0.1, Estimate: k == 1})
		if err != nil {
			t.Fatal(err)
		}
		for q := s.first[120]; q < s.x.Rows; q++ {
			got, err := d.Decide([]Photo{{Vector: s.x.Row(q), Neighbours: nearestByLoop(s.x, labels, q, rows)}})
			if err != nil {
				t.Fatal(err)
			}
			if !got.Unknown {
				in[k] += 1 / float64(s.x.Rows-s.first[120])
			}
		}
		at, err := d.UnknownThreshold(1)
		if err != nil {
			t.Fatal(err)
		}
		known[k] = at.TrueMatch
	}
	t.Logf("strangers %.3f with a bound, %.3f estimated; known %.2f and %.2f", in[0], in[1], known[0], known[1])
	if in[0] > 0.1 || in[1] <= in[0] || in[1] > 0.2 || known[1] < known[0] {
		t.Errorf("%v %v", in, known)
	}
}

// TestSameFallsWithGalleries: the same distance says less among more classes.
func TestSameFallsWithGalleries(t *testing.T) {
	x, labels := drawClusters(4, 40, 6, 6)
	c, err := Calibrate(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	last, at := 1.0, math.Inf(1)
	for _, classes := range []int{2, 20, 200, 2000, 200_000} {
		g := Gallery{Classes: classes, Items: 6 * classes}
		p := c.MatchProbability(c.Distances[20], g.Prior(1))
		th, err := c.UnknownThreshold(0.2, g)
		if p >= last || err == nil && th.Distance > at {
			t.Errorf("%d classes: %v after %v, %v after %v", classes, p, last, th.Distance, at)
		}
		last = p
		if err == nil {
			at = th.Distance
		}
	}
	for i := 1; i < len(c.Distances); i++ {
		if c.MatchProbability(c.Distances[i], 0.5) > c.MatchProbability(c.Distances[i-1], 0.5) {
			t.Fatal("the probability rises with the distance")
		}
	}
	if c.MatchProbability(1, 0) != 0 || c.MatchProbability(1, 1) != 1 {
		t.Error("certain priors")
	}
}

// TestVote: a vote without evidence says nothing, and one without doubt is bounded.
func TestVote(t *testing.T) {
	v := fitVote(nil)
	if v.A != 0 || v.B != 1 {
		t.Errorf("%+v", v)
	}
	var sure []voteProbe
	for i := range 200 {
		sure = append(sure, voteProbe{odds: float64(i%2)*10 - 5, right: i%2 == 1})
	}
	if v = fitVote(sure); !(v.B > 0.5 && v.B < 100) || math.Abs(v.A) > 1 {
		t.Errorf("%+v", v)
	}
	w := countVotes([]string{"a", "b", "a"}, []float64{1, 1, 0}, []float64{5, 5, 5}, 2, 0.5)
	if w[0].class != "a" || len(w) != 2 || w[0].share+w[1].share >= 1 {
		t.Errorf("%v", w)
	}
}

// TestVoteBySize: a class with many items at a distance does not beat one with few at the same distance.
func TestVoteBySize(t *testing.T) {
	class, odds, items := []string{"small"}, []float64{2}, []float64{1}
	for range 31 {
		class, odds, items = append(class, "large"), append(odds, 1.9), append(items, 300)
	}
	if w := countVotes(class, odds, items, 2, 0); w[0].class != "small" {
		t.Errorf("%v", w)
	}
}

// TestWeights: the weights of neighbours are all of the vote, those of a label are its share, and what lies behind the
// voters has none.
func TestWeights(t *testing.T) {
	all := drawClouds(0, 4, 20, 1)
	photos, items := LabelledEmbeddings{X: all.X.RowRange(0, 40), Labels: all.Labels[:40]}, all
	c, err := CalibrateClosed(t.Context(), photos, items, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	var gallery []int
	for i, n := range items.Labels {
		labels, gallery = append(labels, string(rune('A'+n))), append(gallery, i)
	}
	d, err := c.Decider(NewGallery(labels), IdentifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	near := nearestByLoop(items.X, labels, 3, gallery)
	weights := d.VoteWeights(near)
	sum, won := 0.0, 0.0
	got, err := d.Decide([]Photo{{Neighbours: near}})
	if err != nil {
		t.Fatal(err)
	}
	for k, w := range weights {
		sum += w
		if near[k].Label == got.Label {
			won += w
		}
		if k >= d.NumVoters() && w != 0 {
			t.Errorf("neighbour %d weighs %v", k, w)
		}
	}
	if math.Abs(sum-1) > 1e-12 || math.Abs(c.Closed.Vote.probability(won)-got.Probability) > 1e-12 {
		t.Errorf("%v in all, %v won: %+v", sum, won, got)
	}
}
