package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

func TestScoreOf(t *testing.T) {
	for _, c := range []struct {
		hit       string
		positives int
		want      scores
	}{
		{"", 3, scores{}},
		{"-----", 3, scores{}},
		{"x", 1, scores{1, 0.1, 1}},
		{"x-x", 2, scores{1, 0.2, 0.5}},                        // the second is beyond R
		{"-xx", 3, scores{0, 0.2, (1./2 + 2./3) / 3}},          // precision at each hit
		{"-xx", 5, scores{0, 0.2, (1./2 + 2./3) / 3}},          // R is at most the number of candidates
		{"xxxxxxxxxxxx", 12, scores{1, 1, 1}},                  // precision of the first ten only
		{"----------xx", 2, scores{}},                          // all beyond ten and R
		{"x---------x-", 11, scores{1, 0.1, (1 + 2./11) / 11}}, // the second is in the last place of R
	} {
		hit := make([]bool, len(c.hit))
		for i := range hit {
			hit[i] = c.hit[i] == 'x'
		}
		got := newScores(hit, c.positives)
		for k := range got {
			if math.Abs(got[k]-c.want[k]) > 1e-12 {
				t.Errorf("%q of %d: %s is %g, want %g", c.hit, c.positives, measures[k], got[k], c.want[k])
			}
		}
	}
}

// Two classes of pairs and one item alone, in a file: the search finds each partner, and the item alone is no query.
func TestRun(t *testing.T) {
	x := matrix.FromSlice(5, 2, []float32{1, 0, 1, 0.1, 0, 1, 0.1, 1, -1, -1})
	table, err := embedding.NewTable(x, []string{"test/a", "test/b", "test/c", "test/d", "train/e"},
		[]embedding.Column{embedding.NewColumn("kind", []string{"a", "a", "b", "b", "c"})})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "E.csv")
	if err := embedding.Write(file, table); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"-label", "kind", "-draws", "10", file}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| E | 4, 2 | first search | 100.0 | 10.0 | 100.0 |\n",
		"| alpha-QE | 100.0, +0.0 (p 1) |", "| k-reciprocal | 100.0, +0.0 (p 1) |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, wrong := range [][]string{{}, {"-n", "-1", file}, {"-candidates", "0", file}, {"-paths", "(", file},
		{"-paths", "train", file}, {"-label", "none", file}, {"-k1", "0", file}, {file + "x"}} {
		if err := run(t.Context(), wrong, &out); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
}
