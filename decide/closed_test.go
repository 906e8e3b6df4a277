package decide

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// drawClouds are photos of classes from to to, each of them photos around a place that the class has for
// itself. Classes overlap: about one nearest item in five is of another class.
func drawClouds(from, to, each int, seed uint64) LabelledEmbeddings {
	out := LabelledEmbeddings{X: matrix.New(each*(to-from), 4)}
	rng := rand.New(rand.NewPCG(seed, 11))
	for c := from; c < to; c++ {
		place := rand.New(rand.NewPCG(uint64(c), 12))
		var at [4]float64
		for k := range at {
			at[k] = place.NormFloat64()
		}
		for range each {
			for k := range at {
				out.X.Row(len(out.Labels))[k] = float32(at[k] + 0.35*rng.NormFloat64())
			}
			out.Labels = append(out.Labels, int64(c))
		}
	}
	return out
}

// TestCalibrateClosed: the probability of a label is as often right as it says, for photos it was not learned from.
func TestCalibrateClosed(t *testing.T) {
	items, photos, others := drawClouds(0, 20, 15, 1), drawClouds(0, 20, 30, 2), drawClouds(0, 20, 100, 3)
	c, err := CalibrateClosed(t.Context(), photos, items, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if k := c.Closed; !c.IsClosed() || k.Photos != 600 || k.Items != 300 || k.Right < 0.6 || k.Right > 0.95 ||
		k.Vote.Reliability.ECE > 0.07 || !(k.Vote.Reliability.Chance > 0) {
		t.Fatalf("%+v", k)
	}
	var labels []string
	for _, l := range items.Labels {
		labels = append(labels, fmt.Sprint(l))
	}
	d, err := c.Decider(NewGallery(labels), IdentifyOptions{Coverage: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	near, err := eval.Nearest(t.Context(), others.X, items.X, items.X.Rows, eval.RankOptions{})
	if err != nil {
		t.Fatal(err)
	}
	covered := 0
	says := computeReliability(func(yield func(p, right, wrong float64)) {
		for i, l := range others.Labels {
			var of []Neighbour
			for e := range items.X.Rows {
				j := near.Row[i*items.X.Rows+e]
				of = append(of, Neighbour{labels[j], math.Sqrt(near.Value[i*items.X.Rows+e])})
			}
			got, err := d.Decide([]Photo{{Neighbours: of}})
			if err != nil || got.Unknown || got.Within != 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			right := 0.0
			if got.Label == fmt.Sprint(l) {
				right = 1
			}
			for _, s := range got.Set {
				if s == fmt.Sprint(l) {
					covered++
				}
			}
			yield(got.Probability, right, 1-right)
		}
	})
	if share := float64(covered) / float64(len(others.Labels)); says.ECE > 0.05 || share < 0.87 || share > 0.94 {
		t.Errorf("ECE %.3f, covered %.3f where 0.9 is promised", says.ECE, share)
	}
}

// TestClosedItself: a photo that is an item does not find itself.
func TestClosedItself(t *testing.T) {
	items := drawClouds(0, 20, 15, 1)
	photos := items
	for i := range items.Labels {
		photos.SelfRows = append(photos.SelfRows, i)
	}
	c, err := CalibrateClosed(t.Context(), photos, items, Options{})
	if err != nil || c.Closed.Right > 0.95 || c.Closed.NearestDistances[0] == 0 {
		t.Errorf("%v %+v", err, c)
	}
}

// TestClosedRefuses says what is missing, and what a closed set does not tell.
func TestClosedRefuses(t *testing.T) {
	items, photos := drawClouds(0, 10, 5, 1), drawClouds(0, 10, 3, 2)
	broken := drawClouds(0, 10, 3, 2)
	broken.X.Row(7)[1] = float32(math.NaN())
	for want, e := range map[string][2]LabelledEmbeddings{
		"too few to learn":        {drawClouds(0, 10, 1, 2), items},
		"at least two are needed": {drawClouds(0, 1, 30, 2), drawClouds(0, 1, 5, 1)},
		"which no item has":       {drawClouds(0, 11, 3, 2), items},
		"NaN":                     {broken, items},
		"no embeddings":           {LabelledEmbeddings{}, items},
	} {
		_, err := CalibrateClosed(t.Context(), e[0], e[1], Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	c, err := CalibrateClosed(t.Context(), photos, items, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := Gallery{Classes: 10, Items: 50}
	var closed *ClosedError
	_, rate := c.Threshold(0.01)
	_, unknown := c.UnknownThreshold(0.05, g)
	_, fpir := c.Decider(g, IdentifyOptions{FPIR: 0.1})
	_, strangers := c.Decider(g, IdentifyOptions{Strangers: 0.1})
	for _, err := range []error{rate, unknown, fpir, strangers} {
		if !errors.As(err, &closed) {
			t.Error(err)
		}
	}
	if _, err := c.Decider(g, IdentifyOptions{Coverage: 0.99}); err == nil ||
		!strings.Contains(err.Error(), "needs 99 photos") {
		t.Error(err)
	}
	if q := c.NearestQuantiles([]float64{0.1, 0.5, 1}); len(q) != 3 {
		t.Error(q)
	}
}

// closedWithGate is a closed set with a gate learned from strangers of the given classes.
func closedWithGate(t *testing.T, from, to int) *Calibration {
	t.Helper()
	c, err := CalibrateClosed(t.Context(), drawClouds(0, 20, 10, 2), drawClouds(0, 20, 15, 1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	addGate(t, c, from, to)
	return c
}

// addGate gives a closed set a gate learned from strangers of the given classes.
func addGate(t *testing.T, c *Calibration, from, to int) {
	t.Helper()
	items := drawClouds(0, 20, 15, 1)
	found, err := SearchStrangers(t.Context(), drawClouds(from, to, 10, 3), items, eval.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	if c.Closed.Gate, err = NewStrangerGate(c.Closed, found, items.X.Rows); err != nil {
		t.Fatal(err)
	}
}

// TestGate: of new classes of strangers, as many, the bound keeps the rate in at least 90 of 100 draws of classes, as
// it says 95 and the draws are 60.
func TestGate(t *testing.T) {
	items, c := drawClouds(0, 20, 15, 1), closedWithGate(t, 1000, 1010)
	for _, classes := range []int{10, 20, 40} {
		broken, named := 0, 0.0
		const draws = 60
		for i := range draws {
			addGate(t, c, 1000*(i+1), 1000*(i+1)+classes)
			th, err := c.Closed.Gate.UnknownThreshold(0.1, items.X.Rows)
			if err != nil {
				t.Fatal(err)
			}
			found, err := SearchStrangers(t.Context(), drawClouds(1000*(i+1)+classes, 1000*(i+1)+2*classes, 10, 4),
				items,
				eval.Euclidean)
			if err != nil {
				t.Fatal(err)
			}
			let := 0.0
			for _, s := range found {
				if s.Distance <= th.Distance {
					let += 1 / float64(len(found))
				}
			}
			if named += th.TrueMatch / draws; let > 0.1 {
				broken++
			}
		}
		if t.Logf("%d classes: %d of %d broken, %.3f named", classes, broken, draws, named); broken > draws/10 {
			t.Errorf("%d classes: %d of %d broken", classes, broken, draws)
		}
	}
}

// TestGateOfAGallery: a gallery of more items takes a smaller distance, one of other classes is not told by the gate,
// and few classes of strangers are refused.
func TestGateOfAGallery(t *testing.T) {
	c := closedWithGate(t, 1000, 1040)
	g := c.Closed.Gate
	one, err := g.UnknownThreshold(0.2, g.Items)
	if err != nil {
		t.Fatal(err)
	}
	two, err := g.UnknownThreshold(0.2, 2*g.Items)
	if err != nil || two.Distance >= one.Distance || two.Bound > 0.2 || one.Bound > 0.2 {
		t.Errorf("%+v %+v %v", one, two, err)
	}
	if a, ok := g.EstimatedThreshold(0.2, g.Items); !ok || a.Distance < one.Distance || a.Measured > 0.2 {
		t.Errorf("%+v", a)
	}
	for k := range 20 {
		c.Closed.Names = append(c.Closed.Names, fmt.Sprint(k))
	}
	for labels, want := range map[string]Basis{"0 1 2 2": GateBasis, "0 1 other": ClosedSetBasis} {
		if got := c.Basis(NewGallery(strings.Fields(labels)), IdentifyOptions{}); got != want {
			t.Errorf("%s: %v", labels, got)
		}
	}
	if _, err := NewStrangerGate(c.Closed, []Stranger{{1, 0.5}}, 10); err == nil {
		t.Error("one class of strangers")
	}
	// It is read as it was written, and what it cannot be is refused.
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	back, err := Read(strings.NewReader(text))
	if err != nil || !back.IsClosed() || len(back.Closed.Gate.Bound) != len(g.Bound) {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{`"photos":200,"items"`, `"photos":199,"items"`}, {`"known":200`, `"known":0`},
		{`"own":[`, `"own":[9,`}} {
		if broken := strings.Replace(text, change[0], change[1], 1); broken == text {
			t.Errorf("no %s in %.300s", change[0], text)
		} else if _, err := Read(strings.NewReader(broken)); err == nil {
			t.Errorf("%s is read", change[1])
		}
	}
}

// TestClosedThreads: the number of threads changes nothing.
func TestClosedThreads(t *testing.T) {
	var texts []string
	for _, n := range []int{1, 4} {
		before := runtime.GOMAXPROCS(n)
		var b bytes.Buffer
		if err := closedWithGate(t, 1000, 1020).Write(&b); err != nil {
			t.Error(err)
		}
		runtime.GOMAXPROCS(before)
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] {
		t.Error("the calibrations differ")
	}
}
