package paper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCuresPage: what docs/cures.md says of who wins where is what the kept results
// say; KINDRED_UPDATE=1 writes it.
func TestCuresPage(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	all, err := keptResults(filepath.Join(docs, "reproduction"))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(docs, "cures.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- found -->\n", "\n<!-- /found -->"
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	want := found(all)
	if old == want {
		return
	}
	if os.Getenv("KINDRED_UPDATE") == "" {
		t.Fatalf("%s does not say what the results say; KINDRED_UPDATE=1 go test ./internal/repro/paper -run "+
			"TestCuresPage writes it:\n%s", page, want)
	}
	if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o666); err != nil {
		t.Fatal(err)
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
