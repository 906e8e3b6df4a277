package paper

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	test := func(mean, p float64, n int) PairedTest {
		return PairedTest{Gain: Summary{Mean: Number(mean), Std: 1, N: n}, P: Number(p)}
	}
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		tests []PairedTest
		want  Verdict
		why   string
	}{
		{"nothing", nil, Undecided, "nothing was measured"},
		{"right sign by chance", []PairedTest{test(1.2, 0.74, 5)}, Undecided, "p 0.74, 5 seeds"},
		{"wrong sign by chance", []PairedTest{test(-0.1, 0.68, 5)}, Undecided, "p 0.68, 5 seeds"},
		{"holds", []PairedTest{test(20, 0.00043, 5)}, Holds, "p 0.00043, 5 seeds"},
		{"tiny p", []PairedTest{test(20, 1e-9, 3)}, Holds, "p < 0.0001, 3 seeds"},
		{"contradicted", []PairedTest{test(-4.1, 0.01, 3)}, Contradicted, "p 0.010, 3 seeds"},
		{"at the level", []PairedTest{test(1, 0.05, 3)}, Undecided, "p 0.050, 3 seeds"},
		{"two seeds for", []PairedTest{test(16.7, 0.024, 2)}, Undecided, "2 seeds, 3 are needed"},
		{"two seeds against", []PairedTest{test(-16.7, 0.001, 2)}, Undecided, "2 seeds, 3 are needed"},
		{"one seed", []PairedTest{test(18, nan, 1)}, Undecided, "one seed"},
		{"no p", []PairedTest{test(18, nan, 3)}, Undecided, "no p, as the gain is the same in every seed, 3 seeds"},
		{"no p, against", []PairedTest{test(-18, nan, 3)}, Undecided,
			"no p, as the gain is the same in every seed, 3 seeds"},
		{"no gain", []PairedTest{test(nan, nan, 3)}, Undecided, "a number is missing"},
		{"no arm", []PairedTest{test(3, 0.001, 3), pairedTest([]Number{1, 2, 3}, nil)}, Undecided,
			"a number is missing"},
		{"all of three", []PairedTest{test(3, 0.001, 3), test(1, 0.04, 3), test(2, 0.002, 3)}, Holds,
			"p 0.040 in the weakest of 3 comparisons, 3 seeds"},
		{"not all of three", []PairedTest{test(3, 0.001, 3), test(1, 0.3, 3), test(2, 0.002, 3)}, Undecided,
			"p 0.30 in the weakest of 3 comparisons, 3 seeds"},
		{"one without p", []PairedTest{test(3, 0.001, 3), test(1, nan, 3)}, Undecided,
			"no p in the weakest of 2 comparisons, as the gain is the same in every seed, 3 seeds"},
		{"one of three against", []PairedTest{test(3, 0.001, 3), test(-1, 0.01, 3), test(2, 0.002, 3)}, Contradicted,
			"p 0.010 in the clearest contrary one of 3 comparisons, 3 seeds"},
		{"one of three against, as one of three may be",
			[]PairedTest{test(3, 0.001, 3), test(-1, 0.04, 3), test(2, 0.002, 3)}, Undecided,
			"p 0.040 in the weakest of 3 comparisons, 3 seeds"},
		{"fewest seeds count", []PairedTest{test(3, 0.001, 8), test(3, 0.001, 2)}, Undecided, "2 seeds, 3 are needed"},
	} {
		if v, why := judgeTests(c.tests); v != c.want || why != c.why {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, v, why, c.want, c.why)
		}
	}
}

// TestJudgeTogether: p is corrected for the statements that have one. By hand: 0.01 x 3, 0.02 x 2, and 0.03, which is
// raised to the one before.
func TestJudgeTogether(t *testing.T) {
	out, more := &Outcome{e: &Experiment{}}, &Outcome{e: &Experiment{}}
	for _, of := range []struct {
		to      *Outcome
		mean, p Number
	}{{out, 1, 0.01}, {out, -1, 0.02}, {out, 1, missing}, {more, 1, 0.03}} {
		of.to.addClaim(&Claim{Text: "x"}, "", []PairedTest{{Gain: Summary{Mean: of.mean, Std: 1, N: 3}, P: of.p}})
	}
	judgeOutcomes(out, nil, more)
	var got []string
	for _, c := range append(out.Claims, more.Claims...) {
		got = append(got, string(c.Verdict)+": "+c.Why)
	}
	if want := []string{"holds: p 0.010, corrected 0.030, 3 seeds", "contradicted: p 0.020, corrected 0.040, 3 seeds",
		"undecided: no p, as the gain is the same in every seed, 3 seeds",
		"holds: p 0.030, corrected 0.040, 3 seeds"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	judgeOutcomes(more) // alone
	if c := more.Claims[0]; c.Why != "p 0.030, 3 seeds" {
		t.Error(c.Why)
	}
}

// newEPSOutcome is an outcome of MNIST in which EPS has the given gain, seed by seed, in every
// measure.
func newEPSOutcome(t *testing.T, d Data, gains ...Number) *Outcome {
	out := &Outcome{Experiment: "mnist", Data: d, e: Find("mnist"),
		Arms: []ArmOutcome{{Name: "Triplet"}, {Name: "Trip+EPS"}}}
	for s, g := range gains {
		out.Seeds = append(out.Seeds, uint64(s+1))
		for i := range out.Arms {
			if s == 0 {
				out.Arms[i].Measures = make([]MeasureOutcome, len(out.e.Measures))
			}
			for k, m := range out.e.Measures {
				v := &out.Arms[i].Measures[k]
				v.Key, v.Values = m.Key, append(v.Values, 50+Number(i)*g)
			}
		}
	}
	out.describe()
	out.compute()
	out.judgeClaims(t.Context())
	return out
}

// TestGainsAreJudged checks the statements about published gains, and which number of a table is
// marked.
func TestGainsAreJudged(t *testing.T) {
	nan := missing
	for _, c := range []struct {
		name   string
		gains  []Number
		want   Verdict
		marked int
	}{
		{"clear", []Number{10, 11, 10.5}, Holds, 6},
		{"clear, two seeds", []Number{10, 11}, Undecided, 0},
		{"one seed", []Number{10}, Undecided, 0},
		{"by chance", []Number{10, -9, 2}, Undecided, 0},
		{"against", []Number{-10, -11, -10.5}, Contradicted, 6}, // then Triplet is marked
		{"no spread", []Number{10, 10, 10}, Undecided, 0},
		{"no number", []Number{10, nan, 10}, Undecided, 0},
	} {
		out := newEPSOutcome(t, Data{On: "MNIST"}, c.gains...)
		if len(out.Claims) != 6 {
			t.Fatalf("%d claims, want one for each of the six published gains", len(out.Claims))
		}
		for _, got := range out.Claims {
			if got.Verdict != c.want || !strings.HasPrefix(got.Evidence, "Paper +") {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
		if n := strings.Count(out.Table().Markdown(), "**") / 2; n != c.marked {
			t.Errorf("%s: %d numbers marked, want %d:\n%s", c.name, n, c.marked, out.Table().Markdown())
		}
	}
	// Where the paper sees a loss, a gain speaks against it.
	out := newEPSOutcome(t, Data{On: "MNIST"}, 10, 11, 10.5)
	for i, a := range out.e.Arms {
		for k := range a.Published {
			out.e.Arms[i].Published[k] *= -1
		}
	}
	out.judgeClaims(t.Context())
	if c := out.Claims[0]; c.Verdict != Contradicted || !strings.Contains(c.Text, "behind") {
		t.Errorf("%+v", c)
	}
	if out := (&Outcome{e: Find("mnist")}); !math.IsNaN(out.meanPercent("none", "x")) {
		t.Error("an arm that is not there has a mean")
	}
	// The lower seeds of two arms that differ little: no arm is marked, although one is highest.
	if best := newEPSOutcome(t, Data{On: "MNIST"}, 0.1, -0.1, 0.05).best()[0]; best != -1 {
		t.Errorf("arm %d is marked", best)
	}
}

// TestFewSeeds: with one or two seeds the statements are counted by what the means show, without verdicts.
func TestFewSeeds(t *testing.T) {
	claim := func(text string, gains ...Number) CheckedClaim {
		c := CheckedClaim{Text: text, Evidence: "E", Verdict: Undecided}
		for _, g := range gains {
			c.Tests = append(c.Tests, PairedTest{Gain: Summary{Mean: g, Std: missing, N: 1}, P: missing})
		}
		return c
	}
	claims := []CheckedClaim{claim("up", 1), claim("both", 1, 2), claim("one of two", 1, -1), claim("down", -1),
		claim("equal", 0), claim("none"), claim("unknown", 1, missing)}
	claims = append(claims, CheckedClaim{Text: "not below", Evidence: "E", notBelow: true, Tests: claims[4].Tests})
	out := &Outcome{e: &Experiment{}, Seeds: []uint64{1}, Claims: claims}
	want := `3 of 8 statements of the paper agree with the numbers of one seed.
  up E.
  both E.
  not below E.
3 of 8 statements of the paper do not agree with the numbers of one seed.
  one of two E.
  down E.
  equal E.
2 of 8 statements of the paper were not measured.
  none E.
  unknown E.
So few seeds decide nothing, as a difference may be chance: verdicts need three seeds or more.
`
	if got := out.Statements(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	out.Claims, out.Seeds = claims[:1], []uint64{1, 2}
	if got := out.Statements(); !strings.HasPrefix(got, "1 of 1 statements of the paper agrees with the mean of 2 s") {
		t.Error(got)
	}
	if n, needed := out.DecidingSeeds(); n != minSeeds || !needed {
		t.Errorf("%d seeds, %v", n, needed)
	}
	out.Seeds = []uint64{1, 2, 3}
	if got := out.Statements(); !strings.HasPrefix(got, "1 of 1 statements of the paper is undecided.") {
		t.Error(got)
	}
	if _, needed := out.DecidingSeeds(); needed {
		t.Error("three seeds are too few")
	}
	if got := (&Outcome{e: &Experiment{}}).Statements(); got != "" {
		t.Error(got)
	}
}
