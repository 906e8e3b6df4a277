package paper

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDigests: what pages of docs say of the experiments' outcomes is what the kept
// results say; KINDRED_UPDATE=1 writes it.
func TestDigests(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	all, err := keptResults(filepath.Join(docs, "reproduction"))
	if err != nil {
		t.Fatal(err)
	}
	want := digests(all)
	for _, d := range []struct{ page, name string }{{"cures.md", "found"}, {"discover.md", "kinds"},
		{"discover.md", "suspects"}} {
		page := filepath.Join(docs, d.page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+d.name+" -->\n", "\n<!-- /"+d.name+" -->"
		head, rest, ok := strings.Cut(string(text), begin)
		old, tail, ok2 := strings.Cut(rest, end)
		switch {
		case !ok || !ok2:
			t.Errorf("%s has no %q and %q", page, begin, end)
		case old == want[d.name]:
		case os.Getenv("KINDRED_UPDATE") == "":
			t.Errorf("%s does not say what the results say; KINDRED_UPDATE=1 go test ./internal/repro/paper -run "+
				"TestDigests writes it:\n%s", page, want[d.name])
		default:
			if err := os.WriteFile(page, []byte(head+begin+want[d.name]+end+tail), 0o666); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFound: arms go where their p over the seeds puts them, and those that were not
// run are named.
func TestFound(t *testing.T) {
	e := Find("cures")
	out := &Outcome{Experiment: e.Name, Data: Data{On: "Omniglot"}, Scale: "quick", Seeds: []uint64{1, 2, 3}}
	var err error
	if out.e, err = e.only([]string{"Triplet", "EPS", "MS", "NCA"}); err != nil {
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
	got := found([]*Outcome{out, {Experiment: "omniglot"}})
	for _, want := range []string{
		"Triplet has 41.0.", "Ahead of it: EPS 51.1 (+10.1, p < 0.0001).", "Behind it: MS 31.2 (−9.8, p 0.00029).",
		"Not told from it: NCA 42.0 (+1.0, p 0.", "The first, EPS, is ahead of the second, NCA, too (p 0.0",
		"Not run: EPS+MS; SoftTriple;",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in: %s", want, got)
		}
	}
}

// TestOver: the mean over a series goes seed by seed, and its spread is that of the seeds.
func TestOver(t *testing.T) {
	e := CleanMNIST()
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
	s := out.over("trimmed, folds, to look-alikes", "train_neighbours_precision")
	if s.N != 2 || math.Abs(float64(s.Mean)-(200+35./3+3)) > 1e-9 || math.Abs(float64(s.Std)-math.Sqrt(18)) > 1e-9 {
		t.Errorf("%+v", s)
	}
	got := suspectsDigest([]*Outcome{out, {Experiment: "cleaned-mnist"}})
	if rows := strings.Count(got, "\n"); rows != 7 || !strings.Contains(got, "| trimmed | 14.7 ± 4.2 | 214.7 ± 4.2 |") {
		t.Errorf("%d lines:\n%s", rows, got)
	}
}
