package paper

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDigests: the digests in the pages of docs are those of the kept results.
func TestDigests(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "..", "docs")
	all, err := readKeptResults(filepath.Join(docs, "reproduction"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range pageExcerpts(all) {
		page := filepath.Join(docs, d.page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		switch want, ok := d.insert(string(text)); {
		case !ok:
			t.Errorf("%s has no marks of %q", page, d.name)
		case want != string(text):
			t.Errorf("%s does not say what the results say; 'kindred reproduce document' writes it:\n%s", page, d.text)
		}
	}
}

// TestWrittenDigests: the command that writes the page also writes the parts between marks, and
// nothing else of a folder.
func TestWrittenDigests(t *testing.T) {
	dir := t.TempDir()
	const other = "mine\n<!-- kinds -->\nno end\n"
	for name, text := range map[string]string{"collapse.md": other,
		"discover.md": "before\n<!-- kinds -->\nold\n<!-- /kinds -->\nafter\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeExcerpts(dir, nil); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := read("discover.md"); !strings.HasPrefix(got, "before\n<!-- kinds -->\n| data |") ||
		!strings.HasSuffix(got, "|\n<!-- /kinds -->\nafter\n") || strings.Contains(got, "old") {
		t.Error(got)
	}
	if got := read("collapse.md"); got != other {
		t.Errorf("a page without the marks is now %q", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestFound: the corrected p over the seeds decides where an arm is listed, and arms that did not run are
// named.
func TestFound(t *testing.T) {
	e := Find("cures")
	out := &Outcome{Experiment: e.Name, Data: Data{On: "Omniglot"}, Scale: "quick", Seeds: []uint64{1, 2, 3}}
	var err error
	if out.e, err = e.withArms([]string{"Triplet", "EPS", "MS", "NCA"}); err != nil {
		t.Fatal(err)
	}
	for i, v := range [][]Number{{40, 41, 42}, {50, 51.2, 52}, {30, 31.5, 32}, {39, 44, 43}} {
		a := ArmOutcome{Name: out.e.Arms[i].Name}
		for range e.Measures {
			a.Measures = append(a.Measures, MeasureOutcome{Values: v})
		}
		out.Arms = append(out.Arms, a)
	}
	out.compute()
	got := describeCures([]*Outcome{out, {Experiment: "omniglot"}})
	for _, want := range []string{
		"Triplet has 41.0.", "Ahead of it: EPS 51.1 (+10.1, p 0.00013).", "Behind it: MS 31.2 (−9.8, p 0.00057).",
		"No difference to it is shown for: NCA 42.0 (+1.0, p 0.48).", "R@1 of letters; p corrected for 3 comparisons)",
		"Not run: EPS+MS; SoftTriple;",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in: %s", want, got)
		}
	}
}

// TestOver: the mean over a series is taken seed by seed, and its spread is that between the seeds.
func TestOver(t *testing.T) {
	e := Find("clean-mnist")
	out := &Outcome{Experiment: e.Name, Seeds: []uint64{1, 2}, e: e}
	for _, a := range e.Arms {
		ao := ArmOutcome{Name: a.Name}
		for k, m := range e.Measures {
			v := Number(100*k) + Number(a.At) // 5, 10 and 20
			ao.Measures = append(ao.Measures, MeasureOutcome{Key: m.Key, Values: []Number{v, v + 6}})
		}
		out.Arms = append(out.Arms, ao)
	}
	out.compute()
	if got := out.series(", at random"); len(got) != 6 || got[1] != "Trip+SH, folds" {
		t.Errorf("series %q", got)
	}
	s := out.seriesMean("trimmed, folds, to look-alikes", "train_neighbours_precision")
	if s.N != 2 || math.Abs(float64(s.Mean)-(200+35./3+3)) > 1e-9 || math.Abs(float64(s.Std)-math.Sqrt(18)) > 1e-9 {
		t.Errorf("%+v", s)
	}
	got := suspectsExcerpt([]*Outcome{out, {Experiment: "cleaned-mnist"}})
	if rows := strings.Count(got, "\n"); rows != 5 || strings.Contains(got, "trimmed") ||
		!strings.Contains(got, "| EPS+Trip+SH | 14.7 ± 4.2 | 214.7 ± 4.2 |") {
		t.Errorf("%d lines:\n%s", rows, got)
	}
}
