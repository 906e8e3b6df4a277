package eval

import (
	"encoding/json"
	"strings"
	"testing"
)

// The verdict in situations as they occur. none leaves a figure out.
func TestVerdictFollowsTheFigures(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		situation                                   string
		recall, chance, compactness, multi, fineway float64
		want                                        CollapseState
		says, saysNot                               string
	}{
		{"chance", 0.11, 0.10, 1.00, 0, none,
			NotSeparated, "not separated: Recall@1 is 0.110, and chance gives 0.100", ""},
		{"chance, in points", 0.12, 0.10, 0.05, 0, 0, NotSeparated, "cannot be judged yet", "collapsed."},
		{"less than chance", 0.01, 0.10, 1.05, none, none, NotSeparated, "not separated", ""},

		{"untrained features", 0.41, 0.01, 0.99, 0, none,
			Overlapping, "The classes overlap: Recall@1 is 0.410", "in part"},
		{"untrained features, ten classes", 0.41, 0.1, 0.99, 0, none,
			Overlapping, "They have not collapsed", "in part"},
		{"untrained features, too few rows for modes", 0.5, 0.1, 1.01, none, none, Overlapping, "overlap", ""},
		{"untrained features, fine labels", 0.41, 0.01, 0.99, 0, 0.3, Overlapping, "0.99 times as far", "collapsed in"},
		{"untrained features, narrower", 0.57, 0.03, 0.86, 0, none, Overlapping, "0.86 times as far", "in part"},
		{"untrained features, in no order", 0.41, 0.01, 0.99, 0, 0, Overlapping, "overlap", "collapsed in"},

		{"collapsed", 0.99, 0.1, 0.05, 0, 0.02, Collapsed, "has collapsed: the classes are separated, but", ""},
		{"collapsed, nothing else known", 0.99, 0.1, 0.10, none, none, Collapsed, "little is left", ""},
		{"collapsed, of unseen classes", 0.55, 0.01, 0.12, 0, 0.05, Collapsed,
			"separated only in part (Recall@1 0.550, by chance 0.010)", ""},

		{"collapsed in part", 0.95, 0.1, 0.35, 0, 0.35,
			PartlyCollapsed, "some of the differences within them remain", "overlap"},
		{"collapsed in part, no fine labels", 0.8, 0.1, 0.35, 0, none, PartlyCollapsed, "mostly separated", ""},
		{"wide and in no order", 0.98, 0.1, 0.7, 0, 0,
			PartlyCollapsed, "keep their width, but the rows within them are in little order",
			"differences"},
		{"few modes", 0.98, 0.1, 0.25, 0.3, none, PartlyCollapsed, "in part", ""},

		{"well ordered", 0.98, 0.1, 0.7, 0.6, 0.8, Structured, "they are separated, and dissimilar rows", "in part"},
		{"well ordered, in one piece", 0.98, 0.1, 0.7, 0, 0.8, Structured, "keeps the structure", "in part"},
		{"well ordered though narrow", 0.98, 0.1, 0.25, 0.2, 0.9, Structured, "keeps the structure", ""},
		{"wide and separated", 0.97, 0.1, 0.95, 0, none, Structured, "stay apart", "in part"},
		{"ordered, half of the queries right", 0.55, 0.01, 0.8, 0.4, 0.7, Structured, "separated only in part", ""},
	} {
		f := evidence{recall: c.recall, chance: c.chance, compactness: c.compactness}
		if c.multi != none {
			f.subClasses = new(c.multi)
		}
		if c.fineway != none {
			f.fineGain = new(c.fineway)
		}
		got, score := f.state()
		text := f.describe(got)
		if got != c.want || !strings.Contains(text, c.says) || c.saysNot != "" && strings.Contains(text, c.saysNot) {
			t.Errorf("%s: %q (%.2f), want %q: %s", c.situation, got, score, c.want, text)
		}
		if score < -1 || score > 1 {
			t.Errorf("%s: score %v", c.situation, score)
		}
	}
}

// More structure never makes for a worse verdict.
func TestScoreGrowsWithItsSigns(t *testing.T) {
	steps := []float64{0, 0.1, 0.15, 0.3, 0.375, 0.5, 0.6, 0.9, 1.2}
	for _, c := range steps {
		for _, m := range steps[:7] {
			for _, o := range steps[:8] {
				at := func(c, m, o float64) float64 {
					_, _, _, score := evidence{compactness: c, subClasses: new(m), fineGain: new(o)}.signs()
					return score
				}
				v := at(c, m, o)
				if at(c+0.1, m, o) < v || at(c, m+0.1, o) < v || at(c, m, o+0.1) < v {
					t.Errorf("compactness %g, modes %g, order %g: the score falls from %g", c, m, o, v)
				}
			}
		}
	}
}

// Features that nothing has drawn together, in as many classes as rows can tell.
func TestUntrainedFeaturesHaveNotCollapsed(t *testing.T) {
	in := drawModel(5, 30, 10, 16, 0, 3)
	in.Fine = nil
	r := runDiagnosis(t, in, DiagnosisOptions{})
	if r.Verdict.State != Overlapping || r.Compactness < 0.8 || r.DividedShare > 0 {
		t.Errorf("%q at compactness %.2f, modes %.2f, Recall@1 %.2f: %s", r.Verdict.State, r.Compactness,
			r.DividedShare,
			r.Recall, r.Verdict.Text)
	}
}

func TestStatesAsText(t *testing.T) {
	var v CollapseVerdict
	if err := json.Unmarshal([]byte(`{"state": "overlapping"}`), &v); err != nil || v.State != Overlapping {
		t.Errorf("%v, %v", v, err)
	}
	err := json.Unmarshal([]byte(`{"state": "colapsed"}`), &v)
	if err == nil || !strings.Contains(err.Error(), `did you mean "collapsed"`) || v.State != Overlapping {
		t.Errorf("%v, %v", v, err)
	}
}
