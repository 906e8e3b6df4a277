package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// trialsWith makes trials with the values given, the best first.
func trialsWith(values ...string) []*Trial {
	var out []*Trial
	for i, v := range values {
		out = append(out, &Trial{Number: i + 1, Set: []Setting{{Key: "x", Value: v}}, Epochs: 1, Score: -float64(i)})
	}
	return out
}

// TestDensity holds the estimate to its definition: bells as wide as the way to the
// farther neighbour or end, but no wider than all and no narrower than one in n + 1, and
// one over everything; what is cut off is made up for.
func TestDensity(t *testing.T) {
	r := &Range{Key: "x", Low: 0, High: 1}
	d := newDensity(r, 0, trialsWith("0.9", "0.1", "0.2", "0.12"))
	want := []float64{0.9, 0.5, 0.2, 0.12, 0.1}
	for k, width := range []float64{0.4, 1, 0.3, 1. / 6, 1. / 6} {
		i := len(want) - 1 - k
		if d.mean[i] != want[k] || !isClose(d.width[i], width) {
			t.Errorf("a bell of width %v about %v, want %v about %v", d.width[i], d.mean[i], width, want[k])
		}
	}
	if alone := newDensity(r, 0, trialsWith("0")); alone.width[0] != 0.5 || alone.width[1] != 1 {
		t.Errorf("one trial at the low end: %+v", alone)
	}
	// At 0.3, of a bell of width 0.4 about 0.1 cut off at 0 and 1, by numbers: N(0.2/0.4) / 0.4
	// / (F(2.25) - F(-0.25)), with the standard normal N(0.5) = 0.352065, F(2.25) = 0.987776
	// and F(-0.25) = 0.401294.
	one := density{mean: []float64{0.1}, width: []float64{0.4}}
	if got := one.valueAt(0.3); math.Abs(got-0.352065/0.4/(0.987776-0.401294)) > 1e-5 {
		t.Errorf("density %v", got)
	}
	total, below, drawn := 0.0, 0.0, 0
	const steps, draws = 4000, 20000
	for i := range steps {
		u := (float64(i) + 0.5) / steps
		total += d.valueAt(u) / steps
		if u < 0.25 {
			below += d.valueAt(u) / steps
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range draws {
		u := d.draw(rng)
		if u < 0 || u > 1 {
			t.Fatalf("%v is drawn", u)
		}
		if u < 0.25 {
			drawn++
		}
	}
	if math.Abs(total-1) > 1e-6 {
		t.Errorf("the density adds up to %v", total)
	}
	if share := float64(drawn) / draws; math.Abs(share-below) > 4*math.Sqrt(below*(1-below)/draws) {
		t.Errorf("%v of the draws are below 0.25, and %v of the density", share, below)
	}
}

// TestCounts: listed values come up as often as they were good, and once more.
func TestCounts(t *testing.T) {
	d := newDensity(&Range{Key: "x", Values: []string{"a", "b", "c"}}, 0, trialsWith("b", "c", "b", "b", "gone"))
	rng, seen := rand.New(rand.NewPCG(1, 2)), map[float64]float64{}
	const draws = 20000
	for range draws {
		seen[d.draw(rng)]++
	}
	for k, share := range []float64{1. / 7, 4. / 7, 2. / 7} {
		got := seen[(float64(k)+0.5)/3] / draws
		if math.Abs(got-share) > 4*math.Sqrt(share/draws) {
			t.Errorf("value %d: %v of the draws, want %v", k, got, share)
		}
	}
}

// TestSearchIsGuided: TPE begins at random, keeps every fourth trial so, and tries
// otherwise where the best quarter lies and the others do not.
func TestSearchIsGuided(t *testing.T) {
	d := &drawer{search: TPE, seed: 3, ranges: []Range{{Key: "x", Low: 0, High: 1}}}
	random := &drawer{search: Random, seed: 3, ranges: d.ranges}
	known := trialsWith("0.71", "0.7", "0.69", "0.2", "0.3", "0.1", "0.9", "0.5", "0.4", "0.05")
	close, others := 0, 0
	for n := 1; n <= 400; n++ {
		set := d.draw(n, known)
		if same := random.draw(n, nil); n%4 == 0 != (set[0] == same[0]) {
			t.Errorf("trial %d is tried at %s, at random at %s", n, set[0].Value, same[0].Value)
		}
		if d.draw(n, known[:9])[0] != random.draw(n, nil)[0] {
			t.Errorf("trial %d is guided by nine", n)
		}
		if n%4 == 0 {
			continue
		}
		if u := d.ranges[0].PlaceOf(set[0].Value); u > 0.6 && u < 0.8 {
			close++
		} else {
			others++
		}
	}
	if close < 3*others {
		t.Errorf("%d trials near the best and %d elsewhere", close, others)
	}
}

// TestSettingsOfASeed: what a seed draws stays what it was, or sweeps that are under way
// would not find the jobs they have done.
func TestSettingsOfASeed(t *testing.T) {
	ranges := []Range{{Key: "x", Low: 0.001, High: 1, Log: true}, {Key: "c", Values: []string{"1", "2", "3"}},
		{Key: "n", Low: 2, High: 9, Whole: true}}
	d := drawer{search: TPE, seed: 5, ranges: ranges}
	var known []*Trial
	for n := 1; n <= 16; n++ {
		tr := &Trial{Number: n, Set: d.draw(n, known), Epochs: 1}
		tr.Score = ranges[0].PlaceOf(tr.Set[0].Value) - ranges[2].PlaceOf(tr.Set[2].Value)
		known = append(known, tr)
	}
	var said []string
	for _, tr := range known[7:] {
		said = append(said, tr.Set[0].Value+" "+tr.Set[1].Value+" "+tr.Set[2].Value)
	}
	const want = "0.4151 2 3, 0.0189 1 6, 0.08073 1 4, 0.851 1 2, 0.01128 3 9, 0.8636 2 2, 0.969 2 2, 0.9792 2 2, " +
		"0.001227 3 5"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestTicks: the ends and the middle of an interval, or the values.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		r    Range
		want map[string]float64
	}{
		{Range{Low: 1, High: 100, Log: true}, map[string]float64{"1": 0, "10": 0.5, "100": 1}},
		{Range{Low: 2, High: 4}, map[string]float64{"2": 0, "3": 0.5, "4": 1}},
		{Range{Low: 1, High: 3, Whole: true}, map[string]float64{"1": 1. / 6, "2": 0.5, "3": 5. / 6}},
		{Range{Values: []string{`"a"`, "2"}}, map[string]float64{"a": 0.25, "2": 0.75}},
	} {
		got := c.r.Ticks()
		for v, at := range c.want {
			if u, ok := got[v]; !ok || !isClose(u, at) || len(got) != len(c.want) {
				t.Errorf("%+v has %v, want %v", c.r, got, c.want)
			}
		}
	}
}

// TestStart: the first trial of every arm has the settings that the plan starts from, the
// arm's before the plan's, and draws those that the start leaves out as it would without
// one. All later trials are as without.
func TestStart(t *testing.T) {
	const text = "set: {data.name: x, train.epochs: 2}\n" +
		"ranges: {train.lr: {low: 0.001, high: 0.1, log: true}, mine.positives: [easy, random], " +
		"loss.margin: {low: 0.1, high: 1.0}}\n" +
		"arms: [{name: a}, {name: b%s}, {name: c, ranges: {loss.trim: [0.1, 0.2]}}]\n"
	const start = "start: {mine: {positives: random}, train.lr: 0.002, loss.trim: 0.2}\n"
	with, without := parsePlanText(t, fmt.Sprintf(text, ", start: {train.lr: 0.05}")+start),
		parsePlanText(t, fmt.Sprintf(text, ""))
	drawn := func(p *Plan, arm, number int, known []*Trial) []Setting {
		a := &p.Arms[arm]
		d := drawer{search: p.searchOf(a), seed: p.Seed, ranges: p.rangesOf(a), start: p.startOf(a)}
		set := d.draw(number, known)
		for i := range set {
			set[i].place = ""
		}
		return set
	}
	for arm, want := range []string{"train.lr=0.002", "train.lr=0.05", "train.lr=0.002"} {
		got, plain := drawn(with, arm, 1, nil), drawn(without, arm, 1, nil)
		if got[0].override() != want || got[1].override() != `mine.positives="random"` {
			t.Errorf("arm %d starts from %v", arm, got)
		}
		if got[2] != plain[2] {
			t.Errorf("arm %d: what the start leaves out is %v, without a start %v", arm, got[2], plain[2])
		}
		if arm == 2 && got[3].override() != "loss.trim=0.2" {
			t.Errorf("a range of the arm's own starts from %v", got[3])
		}
		var known []*Trial
		for n := 1; n <= 20; n++ {
			set := drawn(with, arm, n, known)
			if n > 1 && !slices.Equal(set, drawn(without, arm, n, known)) {
				t.Errorf("arm %d, trial %d is not what it is without a start", arm, n)
			}
			known = append(known, &Trial{Number: n, Set: set, Epochs: 1, Score: float64(n % 7), rungs: []float64{1}})
		}
	}
	with.Arms[1].Start = nil
	if firstDifference(with, without) != "start" {
		t.Error("a folder's sweep goes on with another start")
	}
}
