package paper

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// newLetters embeds 120 fine classes of six rows each, with a width.
func newLetters(width float64) *run.Embeddings {
	rng := rand.New(rand.NewPCG(1, 1))
	x, part := matrix.New(720, 6), &data.Part{}
	var at [6]float64
	for i := range 720 {
		if i%6 == 0 {
			for k := range at {
				at[k] = rng.NormFloat64()
			}
		}
		for k := range at {
			x.Row(i)[k] = float32(at[k] + width*rng.NormFloat64())
		}
		part.Label, part.Fine = append(part.Label, int64(i/240)), append(part.Fine, int64(i/6))
	}
	pos := make([]int, x.Rows)
	for i := range pos {
		pos[i] = i
	}
	return &run.Embeddings{X: x, Part: part, Pos: pos}
}

// TestDecisions: narrow classes have better measures than wide ones, and both keep what is
// promised.
func TestDecisions(t *testing.T) {
	got := map[string][]float64{}
	for _, width := range []float64{0.1, 0.3} {
		found, err := scoreDecisions(t.Context(), newLetters(width))
		if err != nil {
			t.Fatal(err)
		}
		e := train.Epoch{Metrics: found}
		for _, m := range Find("decide").Measures {
			v, err := e.Metric(m.Key)
			if err != nil || math.IsNaN(v) {
				t.Fatalf("%s: %g, %v", m.Key, v, err)
			}
			got[m.Key] = append(got[m.Key], v)
		}
	}
	for key, v := range got {
		switch {
		case strings.Contains(key, "kept") || strings.Contains(key, "known"):
			if !(v[0] > v[1] && v[0] > 0.2) {
				t.Errorf("%s: %v", key, v)
			}
		case strings.Contains(key, "set@"):
			if !(v[0] < v[1]) {
				t.Errorf("%s: %v", key, v)
			}
		case strings.Contains(key, "false@"):
			if max(v[0], v[1]) > 0.01 {
				t.Errorf("%s: %v", key, v)
			}
		case strings.Contains(key, "strangers"):
			if max(v[0], v[1]) > 0.05 {
				t.Errorf("%s: %v", key, v)
			}
		}
	}
}

// TestDecideTakesOmniglotsRuns: except for the task, every arm asks for the settings of omniglot's
// arm of the same name, so that its finished runs are judged and not repeated.
func TestDecideTakesOmniglotsRuns(t *testing.T) {
	e, was := Find("decide"), Find("omniglot")
	for _, a := range e.Arms {
		k := was.arm(a.Name)
		if k < 0 {
			t.Fatalf("omniglot has no arm %s", a.Name)
		}
		var plans [2]string
		for i, of := range []struct {
			e *Experiment
			a *Arm
		}{{e, &a}, {was, &was.Arms[k]}} {
			o, err := Options{}.resolve(of.e)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := of.e.config(of.a, 3, o.settings(of.a))
			if err != nil {
				t.Fatal(err)
			}
			plans[i], _, _ = strings.Cut(of.a.planText(&cfg), taskMark)
		}
		if plans[0] != plans[1] {
			t.Errorf("%s asks for other settings than omniglot's", a.Name)
		}
		if a.Task == nil || a.Task.Judge == nil {
			t.Errorf("%s judges nothing", a.Name)
		}
	}
}

// TestLower: for a measure that is better if it is lower, the lowest arm is ahead.
func TestLower(t *testing.T) {
	out := readKeptRow(t, "decide")
	marked := 0
	for k, m := range out.e.Measures {
		i := out.best()[k]
		if i < 0 {
			continue
		}
		marked++
		for j := range out.Arms {
			lower := out.Arms[i].Measures[k].Mean < out.Arms[j].Measures[k].Mean
			if want := slices.Contains(out.e.Lower, m.Key); j != i && lower != want {
				t.Errorf("%s: %s is marked, and %s stands at %v beside %v", m.Key, out.Arms[i].Name, out.Arms[j].Name,
					out.Arms[j].Measures[k].Mean, out.Arms[i].Measures[k].Mean)
			}
		}
	}
	if marked < 3 {
		t.Errorf("%d measures are marked", marked)
	}
	for _, key := range out.e.Lower {
		if !slices.ContainsFunc(out.e.Measures, func(m Measure) bool { return m.Key == key }) {
			t.Errorf("no measure is called %s", key)
		}
	}
}
