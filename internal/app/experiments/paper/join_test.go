package paper

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// readKeptRow is the kept result of a row of the table of the defaults.
func readKeptRow(t *testing.T, name string) *Outcome {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "docs", "reproduction", resultsFolder, name+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := parseOutcome(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// selectArms returns a copy of out with only the given arms. Easy positives, which a row may lack, are
// made up: the runs of its default, a point better.
func selectArms(t *testing.T, out *Outcome, names ...string) *Outcome {
	t.Helper()
	var arms []ArmOutcome
	for _, name := range names {
		if name != easyArm {
			arms = append(arms, out.Arms[out.e.arm(name)])
			continue
		}
		made := out.Arms[out.e.arm(defaultArm)]
		made.Name, made.Measures = name, slices.Clone(made.Measures)
		for m := range made.Measures {
			values := slices.Clone(made.Measures[m].Values)
			for i := range values {
				values[i] += 1 + Number(i)/8
			}
			made.Measures[m].Values = values
		}
		arms = append(arms, made)
	}
	claims := slices.DeleteFunc(slices.Clone(out.Claims),
		func(CheckedClaim) bool {
			return !slices.Contains(names, defaultArm) || !slices.Contains(names, untrainedArm)
		})
	made, err := out.withArms("made up", arms, claims)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// names are those of an outcome's arms.
func (out *Outcome) names() []string {
	var names []string
	for _, a := range out.Arms {
		names = append(names, a.Name)
	}
	return names
}

// TestJoined checks that an arm that ran later is added to the kept arms of its row, and replaces
// them if this program would give others.
func TestJoined(t *testing.T) {
	row := readKeptRow(t, "defaults-grocery-class")
	of := &row.Arms[row.e.arm(defaultArm)]
	of.Settled = slices.Clone(of.Settled)
	for i := range of.Settled { // as a default with a loss of pairs would
		of.Settled[i].Positives = "ms"
	}
	folder := t.TempDir()
	keep := func(out *Outcome) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(folder, resultsFolder), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := out.writeNumbers(folder); err != nil {
			t.Fatal(err)
		}
	}
	later := selectArms(t, row, untrainedArm, easyArm)
	if out, err := later.joinKept(folder); err != nil || out != later {
		t.Errorf("nothing is kept: %v, %v", out, err)
	}
	first := selectArms(t, row, untrainedArm, defaultArm)
	first.Took = 100
	keep(first)
	later.Took = 10
	out, err := later.joinKept(folder)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{untrainedArm, defaultArm, easyArm}; !slices.Equal(out.names(), want) {
		t.Errorf("arms %q, want %q", out.names(), want)
	}
	if len(out.Claims) != 1 || out.Claims[0].Verdict != row.Claims[0].Verdict {
		t.Errorf("what is stated: %+v", out.Claims)
	}
	seconds := 10.0
	for _, s := range first.Arms[1].Settled {
		seconds += s.Seconds
	}
	if out.Took != seconds {
		t.Errorf("took %v s, want %v", out.Took, seconds)
	}
	whole, err := out.addSubstituteArms()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{untrainedArm, defaultArm, easyArm, plainArm}; !slices.Equal(whole.names(), want) {
		t.Errorf("arms %q, want %q: the default chose the positives of the last", whole.names(), want)
	}
	if g := whole.measure(easyArm, row.e.Measures[0].Key).Gain; g == nil || g.Gain.Mean < 1.1 || g.Gain.Mean > 1.15 {
		t.Errorf("easy over without: %+v, want 1 + (0 + 1/8 + 2/8) / 3", g)
	}
	if again, err := whole.addSubstituteArms(); err != nil || again != whole {
		t.Errorf("done twice: %v, %v", again.names(), err)
	}

	for name, change := range map[string]func(*Outcome){
		"another seed":    func(o *Outcome) { o.Seeds = []uint64{1, 2, 4} },
		"another scale":   func(o *Outcome) { o.Scale = "quick" },
		"another setting": func(o *Outcome) { o.Set = []string{"train.lr=1"} },
		"other data":      func(o *Outcome) { o.Data.On = "a folder" },
		"another value": func(o *Outcome) {
			o.Arms[0].Measures[0].Values = slices.Clone(o.Arms[0].Measures[0].Values)
			o.Arms[0].Measures[0].Values[2] += 0.1
		},
	} {
		other := selectArms(t, row, untrainedArm, easyArm)
		change(other)
		if out, err := other.joinKept(folder); err != nil || out != other {
			t.Errorf("%s: %q, %v", name, out.names(), err)
		}
	}
	if alone := selectArms(t, row, easyArm); alone != nil {
		if out, err := alone.joinKept(folder); err != nil || out != alone {
			t.Errorf("without an arm that both have: %q, %v", out.names(), err)
		}
	}
}

// TestStoodIn checks that the default's runs replace no arm whose positives it did not choose in
// every seed.
func TestStoodIn(t *testing.T) {
	out := selectArms(t, readKeptRow(t, "defaults-grocery-class"), untrainedArm, defaultArm)
	settled := slices.Clone(out.Arms[1].Settled)
	settled[1].Positives = "easy"
	out.Arms[1].Settled = settled
	if got, err := out.addSubstituteArms(); err != nil || got != out {
		t.Errorf("two kinds of positives: %q, %v", got.names(), err)
	}
	for i := range settled {
		settled[i].Positives = "easy"
	}
	got, err := out.addSubstituteArms()
	if err != nil || !slices.Equal(got.names(), []string{untrainedArm, defaultArm, easyArm}) {
		t.Errorf("easy positives in every seed: %q, %v", got.names(), err)
	}
	out.Arms[1].Settled = settled[:2]
	if got, err := out.addSubstituteArms(); err != nil || got != out {
		t.Errorf("a seed that did not say: %q, %v", got.names(), err)
	}
}
