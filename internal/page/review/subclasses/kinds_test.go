package subclasses

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/page/review"
)

// The classes come in the order of their p, and of equal ones by their stability.
func TestSurestFirst(t *testing.T) {
	classes := []discover.Class{{Label: 1, P: 0.5, Stability: 1}, {Label: 2, P: 0.025, Stability: 0.7},
		{Label: 3, P: 0.025, Stability: 0.9}, {Label: 4, P: 0.001, Stability: 0.6}}
	var got []int64
	for _, c := range sortBySureness(classes) {
		got = append(got, c.Label)
	}
	if !slices.Equal(got, []int64{4, 3, 2, 1}) || classes[0].Label != 1 {
		t.Errorf("%v", got)
	}
}

// Kinds are called after their class, unless a class is called so already; a class in one
// piece keeps its name.
func TestNames(t *testing.T) {
	s := &review.Subjects{Labels: []int64{0, 0, 0, 1, 2}, Names: map[int64]string{0: "bird", 1: "bird 2", 2: "cat"},
		Items: []embedding.Item{{Path: "a"}, {Path: "b"}, {Path: "c"}, {Path: "d"}, {Path: "e"}}}
	res := &discover.Result{Classes: []discover.Class{
		{Label: 1, P: 1, SubClasses: []discover.SubClass{{Rows: []int{3}, Exemplar: 3}}},
		{Label: 0, P: 0.01, SubClasses: []discover.SubClass{{Rows: []int{1, 2}, Exemplar: 2, MostDifferent: []int{1}},
			{Rows: []int{0}, Exemplar: 0}}},
		{Label: 2, P: 1, SubClasses: []discover.SubClass{{Rows: []int{4}, Exemplar: 4}}}}}
	r := New(s, discover.Ward, res)
	if want := []string{"bird 2'", "bird 1", "bird 1", "bird 2", "cat"}; !slices.Equal(r.names, want) {
		t.Errorf("names %q, want %q", r.names, want)
	}
	if r.Kinds != 4 || r.Items != 5 || r.Classes[0].Label != "bird" || r.Classes[0].Items != 3 {
		t.Errorf("%+v", r)
	}
	p, err := r.Page(t.Context(), s)
	if err != nil || len(p.Cards) != 2 {
		t.Fatalf("%d cards, %v: only the divided class is asked about", len(p.Cards), err)
	}
	if c := p.Cards[0]; c.Suggested != "bird 1" || c.Class != "bird" || len(c.Pictures) != 2 ||
		c.Pictures[0].Caption != "c" || c.Pictures[1].Caption != "b" {
		t.Errorf("%+v", c)
	}
	rows := r.ClassRows()
	if len(rows) != 5 || len(rows[1]) != len(rows[0]) || rows[1][6] != "b" || rows[2][6] != "" {
		t.Errorf("classes.csv %q", rows)
	}
	m := r.Manifest(s)
	if want := []string{"a", "bird 2'", "bird"}; !slices.Equal(m[1], want) {
		t.Errorf("manifest %q", m)
	}
}

// Where no class is divided, the page and the command say so in a sentence, with what to try.
func TestNothing(t *testing.T) {
	s := &review.Subjects{Labels: []int64{0, 1}, Names: map[int64]string{0: "bird", 1: "cat"},
		Items: []embedding.Item{{Path: "a"}, {Path: "b"}}}
	whole := []discover.Class{{Label: 0, P: 1, SubClasses: []discover.SubClass{{Rows: []int{0}}}},
		{Label: 1, P: 1, SubClasses: []discover.SubClass{{Rows: []int{1}}}}}
	judged := make([]discover.ClassVerdict, 5)
	for _, c := range []struct {
		verdict discover.Verdict
		want    string
	}{
		{discover.Verdict{Classes: judged, NumTested: 5, Level: 0.05}, "No class has sub-classes: " +
			"none of 5 classes falls into groups (level 5 %). To see weaker groups, run kindred discover with " +
			"--level 0.3 (now 0.05)."},
		{discover.Verdict{Classes: judged, NumTested: 4, Level: 0.5}, "No class has sub-classes: " +
			"none of 4 classes falls into groups (level 50 %). 1 class has too few photos to tell."},
		{discover.Verdict{Classes: judged, Level: 0.05}, "No class has the 10 samples that are needed to " +
			"look for sub-classes. Take more photos of each class."},
	} {
		r := New(s, discover.Ward, &discover.Result{Verdict: c.verdict, Classes: whole})
		p, err := r.Page(t.Context(), s)
		if err != nil || p.Lead != c.want || r.UndividedMessage() != c.want {
			t.Errorf("%q, %v, want %q", p.Lead, err, c.want)
		}
	}
}
