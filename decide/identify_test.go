package decide

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/mat"
)

// lookedUp is the neighbours of a row among others, by a loop.
func lookedUp(x *mat.Dense, labels []string, q int, gallery []int) (near []Neighbour) {
	for _, i := range gallery {
		if i != q {
			near = append(near, Neighbour{labels[i], distance(0, x.Row(q), x.Row(i))})
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
	x, numbers := clusters(11, 160, 8, 8)
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
	d, err := c.Decider(g, IdentifyOptions{FPIR: 0.1, Coverage: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	for _, several := range []int{1, 3} {
		var right, known, said, let, strangers, covered, size float64
		for i := 640; i < len(labels); i += 8 {
			for p := 5; p < 8; p += several {
				var photos [][]Neighbour
				for k := range several {
					photos = append(photos, lookedUp(x, labels, i+p+k, gallery))
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
	x, labels := clusters(4, 40, 6, 6)
	c, err := Calibrate(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := NewGallery([]string{"a", "a", "a", "b", "b", "c"})
	d, err := c.Decider(g, IdentifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	near := d.unknown[0].Distance / 2
	far := c.Distances[len(c.Distances)-1]
	got, err := d.Decide([][]Neighbour{{{"b", near}, {"a", 2 * near}, {"c", far}}})
	if err != nil || got.Label != "b" || got.RunnerUp != "a" || got.Unknown || got.Set != nil || got.Nearest != near {
		t.Errorf("%v: %+v", err, got)
	}
	if got.Probability+got.RunnerUpProbability > 1 {
		t.Errorf("probabilities %v and %v", got.Probability, got.RunnerUpProbability)
	}
	away, err := d.Decide([][]Neighbour{{{"b", far}}})
	if err != nil || !away.Unknown || away.Probability >= got.Probability {
		t.Errorf("%v: %+v", err, away)
	}
	for _, photos := range [][][]Neighbour{nil, {nil}, {{{"a", 2}, {"b", 1}}}, {{{"a", math.NaN()}}}} {
		if _, err := d.Decide(photos); err == nil {
			t.Errorf("%v is decided about", photos)
		}
	}
	for _, opt := range []IdentifyOptions{{FPIR: 2}, {Strangers: 1}, {Coverage: 1}, {Coverage: math.NaN()},
		{FPIR: 1e-9}} {
		if _, err := c.Decider(g, opt); err == nil {
			t.Errorf("%+v", opt)
		}
	}
	if _, err := c.Decider(g, IdentifyOptions{FPIR: 1e-6}); err == nil ||
		!strings.Contains(err.Error(), "cannot be promised") {
		t.Errorf("1e-6: %v", err)
	}
}

// TestSameFallsWithGalleries: the same distance says less among more classes.
func TestSameFallsWithGalleries(t *testing.T) {
	x, labels := clusters(4, 40, 6, 6)
	c, err := Calibrate(t.Context(), x, labels, Options{})
	if err != nil {
		t.Fatal(err)
	}
	last, at := 1.0, math.Inf(1)
	for _, classes := range []int{2, 20, 200, 2000, 200_000} {
		g := Gallery{Classes: classes, Items: 6 * classes}
		p := c.Same(c.Distances[20], g.Prior(1))
		th, err := c.Unknown(0.2, g)
		if p >= last || err == nil && th.Distance > at {
			t.Errorf("%d classes: %v after %v, %v after %v", classes, p, last, th.Distance, at)
		}
		last = p
		if err == nil {
			at = th.Distance
		}
	}
	for i := 1; i < len(c.Distances); i++ {
		if c.Same(c.Distances[i], 0.5) > c.Same(c.Distances[i-1], 0.5) {
			t.Fatal("the probability rises with the distance")
		}
	}
	if c.Same(1, 0) != 0 || c.Same(1, 1) != 1 {
		t.Error("certain priors")
	}
}

// TestVote: a vote without evidence says nothing, and one without doubt is bounded.
func TestVote(t *testing.T) {
	v := fitVote(nil, 2)
	if v.A != 0 || v.B != 1 {
		t.Errorf("%+v", v)
	}
	var sure []probe
	for i := range 200 {
		sure = append(sure, probe{odds: float64(i%2)*10 - 5, right: i%2 == 1})
	}
	if v = fitVote(sure, 2); !(v.B > 0.5 && v.B < 100) || math.Abs(v.A) > 1 {
		t.Errorf("%+v", v)
	}
	w := votes([]string{"a", "b", "a"}, []float64{1, 1, 0}, 10, 0.5)
	if w[0].class != "a" || len(w) != 2 || w[0].share+w[1].share >= 1 {
		t.Errorf("%v", w)
	}
}

// TestWeights: the weights of neighbours and what is left for strangers are all of the vote,
// those of a label are its share, and what lies behind the voters has none.
func TestWeights(t *testing.T) {
	x, numbers := clusters(12, 60, 8, 8)
	c, err := Calibrate(t.Context(), x, numbers, Options{})
	if err != nil {
		t.Fatal(err)
	}
	labels, gallery := make([]string, len(numbers)), make([]int, len(numbers))
	for i, n := range numbers {
		labels[i], gallery[i] = string(rune('A'+n)), i
	}
	d, err := c.Decider(NewGallery(labels), IdentifyOptions{Strangers: 0.2, FPIR: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	near := lookedUp(x, labels, 3, gallery)
	weights, rest := d.Weights(near)
	all, won := rest, 0.0
	got, err := d.Decide([][]Neighbour{near})
	if err != nil {
		t.Fatal(err)
	}
	for k, w := range weights {
		all += w
		if near[k].Label == got.Label {
			won += w
		}
		if k >= d.Voters() && w != 0 || k > 0 && w > weights[k-1] {
			t.Errorf("neighbour %d weighs %v", k, w)
		}
	}
	if math.Abs(all-1) > 1e-12 || rest <= 0 || math.Abs(c.Vote.probability(won, 60)-got.Probability) > 1e-12 {
		t.Errorf("%v in all, %v are left, %v won: %+v", all, rest, won, got)
	}
	one, err := d.Unknown(1)
	if err != nil || one.Rate != 0.3 || one.Distance != got.Within {
		t.Errorf("%+v %v", one, err)
	}
	if several, err := d.Unknown(2); err != nil || several.Rate != 0.15 || several.Distance >= one.Distance {
		t.Errorf("%+v %v", several, err)
	}
}
