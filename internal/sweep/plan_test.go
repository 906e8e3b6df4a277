package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/yamltext"
)

func TestPlan(t *testing.T) {
	p := parsePlanText(t, smallPlan)
	if p.Epochs != 4 || p.Trials != 14 || p.Budget != 56 || p.AtOnce != 4 || p.Metric != "recall@1" || p.Seed != 5 ||
		p.Search != TPE || p.Stop != ASHA {
		t.Errorf("%+v", p)
	}
	if got := fmt.Sprint(p.rungs(&Arm{})); got != "[1 2 4]" {
		t.Errorf("rungs %s", got)
	}
	late := parsePlanText(t, smallPlan+"first: 4\n") // all epochs of a trial
	if got := fmt.Sprint(late.rungs(&Arm{})); got != "[4]" {
		t.Errorf("rungs from the last epoch on: %s", got)
	}
	for _, c := range []struct {
		epochs, first, eta int
		want               string
	}{{9, 1, 3, "[1 3 9]"}, {8, 1, 3, "[1 3 8]"}, {10, 2, 3, "[3 10]"}, {1, 1, 3, "[1]"}, {100, 4, 4, "[6 25 100]"}} {
		p := Plan{Epochs: c.epochs, First: c.first, Reduction: c.eta}
		if got := fmt.Sprint(p.rungs(&Arm{})); got != c.want {
			t.Errorf("rungs of %+v: %s", c, got)
		}
	}
	if got := fmt.Sprint((&Plan{Epochs: 9, Stop: Never}).rungs(&Arm{})); got != "[9]" {
		t.Errorf("rungs without stops: %s", got)
	}
	arm := Arm{Ranges: []Range{{Key: "a", Low: 2, High: 3}}, Set: []Setting{{Key: "b"}}}
	over := Plan{Ranges: []Range{{Key: "a", High: 1}, {Key: "b", High: 1}, {Key: "c", High: 1}}}
	if r := over.rangesOf(&arm); len(r) != 2 || r[0].Key != "c" || r[1].Low != 2 {
		t.Errorf("an arm's keys do not come first: %+v", r)
	}
}

func TestPlanRefused(t *testing.T) {
	const ok = "set: {data.name: x}\nranges: {train.lr: {low: 0.1, high: 0.2}}\n"
	for _, c := range []struct{ text, want string }{
		{"ranges: {train.lrr: {low: 0.1, high: 1}}", `plan.yaml:1: unknown key "train.lrr" (did you mean "train.lr"?)`},
		{"set:\n  data.name: x\n  traim.lr: 3\n" + ok[20:], `plan.yaml:3: unknown section "traim"`},
		{"set:\n  train:\n    lr: [1, 2]\n" + ok[20:], "plan.yaml:3: train.lr"},
		{"ranges:\n  train.lr: {low: 1, high: 1}", "plan.yaml:2: train.lr: the range from 1 to 1 is empty"},
		{"ranges:\n  train.lr: {low: 0, high: 1.5, log: true}", "plan.yaml:2: train.lr: a logarithmic range must"},
		{"ranges:\n  train.lr: {low: 1}", "plan.yaml:2: train.lr: want a list of values, or"},
		{"ranges:\n  train.lr: {low: 1, hihg: 3}", `plan.yaml:2: the range of train.lr has no key "hihg" (did you`},
		{"ranges:\n  train.lr: {low: 1, high: 2, step: 5}", "step 5 is not in the range"},
		{"ranges:\n  train.lr: {low: 1.0, high: 2, step: 0.1, log: true}", "a logarithmic range cannot have a step"},
		{"ranges:\n  train.lr: {low: .nan, high: 2}", `not a number`},
		{"ranges:\n  train.lr: {low: -1.7e308, high: 1.7e308}", `is too wide`},
		{"ranges:\n  train.lr: []", "plan.yaml:2: train.lr: 0 values to choose from: want at least 2"},
		{"ranges:\n  train.lr: [0.1]", "put a fixed value under set"},
		{"ranges:\n  train.lr: [0.1, 0.1]", "0.1 occurs twice"},
		{"ranges:\n  mine.positives: [easy, eazy]", `plan.yaml:2: mine.positives: unknown`},
		{"ranges:\n  train.optimizer: [adam, adamm]", "plan.yaml:2: train.optimizer: unknown optimizer"},
		{"ranges:\n  train.momentum: {low: 0.5, high: 1.5}", "plan.yaml:2: train.momentum: 1.5: must be at least 0 " +
			"and less than 1"},
		{"ranges:\n  train.epochs: {low: 1, high: 9}", "train.epochs cannot have a range: the budget"},
		{"ranges:\n  train.seed: {low: 1, high: 9}", "train.seed cannot have a range"},
		{"set: {data.fold: 1/2}\n" + ok[20:], "data.fold cannot be set: use the plan's key folds"},
		{"ranges: {}", "no range to search"}, {"", "no range to search"}, {"7", "not made of"},
		{ok + "---\na: 1", "a second document"},
		{ok + "trials: 0", `"0" is not a whole number from 1`}, {ok + "trials: 1e99", "not a whole number"},
		{ok + "folds: 1", `"1": want a number of folds`}, {ok + "folds: half", ": want a number of folds"},
		{ok + "search: grid", "grid"}, {ok + "stop: 5", "5"}, {ok + "seed: -1", "plan.yaml:3"},
		{ok + "trial: 9", `the plan has no key "trial" (did you mean "trials"?)`},
		{ok + "trials: 3\ntrials: 4", "[4:1]"},
		{ok + "metric: nmi", "metric nmi is not measured"},
		{ok + "set: {eval.metrics: [nmi]}", "[3:1]"},
		{"set: {eval.metrics: [nmi]}\nmetric: nmi\n" + ok[20:], "computed only after the last epoch"},
		{ok + "first: 11", "11 epochs are more than"},
		{ok + "budget: 1\nfirst: 9", "a budget of 1 epochs is too small"},
		{ok + "start: {train.lr: 0.3}", "plan.yaml:3: start: 0.3 is not in the range of train.lr"},
		{ok + "start: {loss.margin: 0.3}", "plan.yaml:3: start: loss.margin has no range"},
		{ok + "start: {train.lr: [1]}", "start: [1] is not in the range"},
		{ok + "start: 3", "start is not made of"},
		{ok + "arms: [{name: a, start: {loss.margin: 1}}, {name: b, ranges: {loss.margin: [1, 2]}}]",
			"start: loss.margin has no range"},
		{ok + "arms: [{name: a, ranges: {train.lr: [1, 2]}}]\nstart: {train.lr: 0.1}", "0.1 is not in the range"},
		{"set: {data.name: x}\nranges: {loss.margin: {low: 0.1, high: 0.9, step: 0.2}}\nstart: {loss.margin: 0.4}",
			"start: 0.4 is not in the range"},
		{ok + "arms: []", "arms is a list"}, {ok + "arms: [{name: a}, {name: A}]", `the folder "a"`},
		{ok + "arms: [{set: {loss.name: triplet}}]", "an arm needs a name"},
		{ok + "arms: [{name: '///'}]", "needs a name"},
		{ok + "arms: [{name: a, set: {train.epochs: 3}}, {name: b}]", "all arms need the same"},
	} {
		_, err := ParsePlan("plan.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestPlanBounds: the largest and the smallest numbers that a plan may have.
func TestPlanBounds(t *testing.T) {
	const ok = "set: {data.name: x}\nranges: {train.lr: {low: 0.1, high: 0.2}}\n"
	for key, least := range map[string]int{"trials": 1, "budget": 1, "first": 1, "reduction": 2, "folds": 2, "use": 1,
		"seeds": 0, "at_once": 1} {
		for n, good := range map[int]bool{least - 1: false, least: true, maxCount: true, maxCount + 1: false} {
			text := fmt.Sprintf("%s%s: %d", ok, key, n)
			_, err := ParsePlan("plan.yaml", []byte(text))
			// More than there are is refused elsewhere.
			refused := err != nil && (strings.Contains(err.Error(), "is not a whole number from") ||
				strings.Contains(err.Error(), ": want a number of folds of"))
			if refused == good {
				t.Errorf("%s: %d: %v", key, n, err)
			}
		}
	}
}

// TestRange goes through ranges and back.
func TestRange(t *testing.T) {
	for _, r := range []Range{
		{Key: "k", Low: 0.001, High: 10, Log: true}, {Key: "k", Low: -1, High: 2},
		{Key: "k", Low: 3, High: 7, Whole: true},
		{Key: "k", Low: 1, High: 1000, Whole: true, Log: true}, {Key: "k", Low: 0.1, High: 0.75, Step: 0.1},
		{Key: "k", Values: []string{`"a"`, "2", "null"}}, {Key: "k", Low: 2, High: 16, Step: 4, Whole: true},
	} {
		var all []string
		for i := range 1001 {
			u := float64(i) / 1000
			s := r.settingAt(u)
			if got := r.settingAt(r.PlaceOf(s.Value)); got.Value != s.Value {
				t.Fatalf("%+v at %v is %s, and comes back as %s", r, u, s.Value, got.Value)
			}
			if !slices.Contains(all, s.Value) {
				all = append(all, s.Value)
			}
		}
		want := map[bool]int{true: len(all)}[true]
		switch {
		case r.Values != nil:
			want = 3
		case r.Step == 0.1:
			want = 7
		case r.Step == 4:
			want = 4
		case r.Whole && !r.Log:
			want = 5
		}
		if len(all) != want {
			t.Errorf("%+v has the values %v", r, all)
		}
	}
}

// TestTPE gives a study whose best place is known to both searches.
func TestTPE(t *testing.T) {
	ranges := []Range{{Key: "x", Low: -2, High: 2}, {Key: "c", Values: []string{"1", "2", "3"}}}
	mean := map[Search]float64{}
	const studies = 40
	for seed := range uint64(studies) {
		for _, search := range []Search{Random, TPE} {
			d := drawer{search: search, seed: seed, ranges: ranges}
			var known []*Trial
			best := -1e9
			for n := 1; n <= 40; n++ {
				tr := &Trial{Number: n, Set: d.draw(n, known), Epochs: 1}
				x, c := ranges[0].PlaceOf(tr.Set[0].Value)*4-2, tr.Set[1].Value
				tr.Score = -(x - 0.7) * (x - 0.7)
				if c != "2" {
					tr.Score -= 0.5
				}
				known = append(known, tr)
				best = max(best, tr.Score)
			}
			mean[search] += best / studies
		}
	}
	if !(mean[TPE] > mean[Random]*2/3) {
		t.Errorf("best of 40 trials: TPE %v, random %v", mean[TPE], mean[Random])
	}
	d := drawer{search: Random, seed: 1, ranges: ranges}
	if a, b := d.draw(7, nil), d.draw(7, make([]*Trial, 20)); a[0] != b[0] || a[1] != b[1] {
		t.Error("a random trial depends on what is known")
	}
	for _, n := range []int{1, 2} { // known trials that all failed, and all alike
		var known []*Trial
		for k := range 12 {
			known = append(known, &Trial{Number: k, Set: lowEnds(ranges), Failed: strings.Repeat("x", n-1)})
		}
		(&drawer{search: TPE, seed: 1, ranges: ranges}).draw(20, known)
	}
}

func FuzzPlan(f *testing.F) {
	for _, s := range []string{smallPlan, "", "ranges: {train.lr: [1, 2]}", "arms: [{name: a}]",
		"set: {a: {b: {c: 1}}}",
		"ranges: {train.lr: {low: 1e-300, high: 1e300, log: true}}", "ranges: {train.steps: [[1, 2], [3]]}",
		"folds: images:3",
		"set: {1: 2, ~: 3, [a]: 4}", "? a\n: b", "trials: !!int 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlan("plan.yaml", []byte(text))
		if err != nil {
			return
		}
		for i := range p.Arms { // what is read can be tried
			for _, u := range []float64{0, 0.37, 1} {
				for _, r := range p.rangesOf(&p.Arms[i]) {
					r.PlaceOf(r.settingAt(u).Value)
				}
			}
		}
		if len(p.rungs(&Arm{})) == 0 || p.rungs(&Arm{})[len(p.rungs(&Arm{}))-1] != p.Epochs {
			t.Errorf("rungs %v of %d epochs", p.rungs(&Arm{}), p.Epochs)
		}
	})
}

// TestRangeHas asks ranges for values that they give, and for others.
func TestRangeHas(t *testing.T) {
	p := parsePlanText(t, `
set: {data.name: rows}
ranges:
  train.lr: {low: 0.001, high: 0.1, log: true}
  sample.per_class: {low: 2, high: 4}
  mine.positives: [easy, random]
  sample.classes: [4, 8]
`)
	for _, c := range []struct {
		key      int
		has, not []string
	}{
		{0, []string{"0.001", "0.1", "0.02"}, []string{"0.0009", "0.2", "x", ""}},
		{1, []string{"2", "3", "4"}, []string{"2.5", "5"}},
		{2, []string{"easy", `"random"`}, []string{"hard", ""}},
		{3, []string{"4", "8"}, []string{"6", `"4"`}},
	} {
		r := &p.Ranges[c.key]
		for _, v := range c.has {
			if !r.Contains(v) {
				t.Errorf("%s lacks %s", r.Key, v)
			}
		}
		for _, v := range c.not {
			if r.Contains(v) {
				t.Errorf("%s has %s", r.Key, v)
			}
		}
	}
}

// TestWholeRanges: a range of whole numbers has whole bounds and a whole step, none beyond
// what float64 counts one by one.
func TestWholeRanges(t *testing.T) {
	for text, want := range map[string]bool{"low: 1, high: 9007199254740992": true,
		"low: 1, high: 9007199254740994":  false,
		"low: -9007199254740992, high: 1": true, "low: -9007199254740994, high: 1": false, "low: 1, high: 2.0": false,
		"low: 1.0, high: 2": false, "low: 1, high: 9, step: 2": true, "low: 1, high: 9, step: 0.5": false,
		"low: 1, high: 2, step: 1": true} {
		r := planReader{Reader: yamltext.NewReader("plan.yaml"), plan: &Plan{}}
		f, err := r.Parse([]byte("{" + text + "}"))
		if err != nil {
			t.Fatal(err)
		}
		to := &Range{Key: "x"}
		if r.interval(to, f.Docs[0].Body); r.NumErrors() > 0 || to.Whole != want {
			t.Errorf("{%s}: whole %v, %d errors", text, to.Whole, r.NumErrors())
		}
	}
}
