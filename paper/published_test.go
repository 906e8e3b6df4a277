package paper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// methodSheet returns the text of the sheet that resolves the papers' misprints.
func methodSheet(t *testing.T) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "spec", "method.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("%s is not here: %v", path, err)
	}
	return string(text)
}

// row returns three recalls as the sheet writes them, "42.0/87.5/96.6".
func row(v []float64) string { return fmt.Sprintf("%.1f/%.1f/%.1f", v[0], v[1], v[2]) }

func TestPublishedMNISTNumbersAreTheSheets(t *testing.T) {
	sheet := methodSheet(t)
	e := MNIST()
	random, eps := e.Arms[0].Published, e.Arms[1].Published
	for _, want := range []string{
		"train digits R@1/5/10 " + row(random[:3]) + " -> " + row(eps[:3]),
		"unseen digits 6-9 " + row(random[3:]) + " -> " + row(eps[3:]),
	} {
		if !strings.Contains(sheet, want) {
			t.Errorf("the sheet does not say %q", want)
		}
	}
}

func TestExperimentsAreConsistent(t *testing.T) {
	for _, name := range Names() {
		e := Find(name)
		if e == nil || e.Name != name || e.Title == "" || e.Source == "" || e.About == "" {
			t.Fatalf("%s: incomplete: %+v", name, e)
		}
		for i := range e.Arms {
			a := &e.Arms[i]
			if a.Published != nil && len(a.Published) != len(e.Measures) {
				t.Errorf("%s, %s: %d published numbers for %d measures", name, a.Name, len(a.Published), len(e.Measures))
			}
			if a.Baseline != "" && e.arm(a.Baseline) < 0 {
				t.Errorf("%s, %s: no arm is called %s", name, a.Name, a.Baseline)
			}
			for _, fast := range []bool{false, true} {
				for _, scale := range append([]Scale{{}}, e.Scales...) {
					set, err := Options{Fast: fast, Scale: scale.Name}.overrides(e)
					if err == nil {
						_, err = e.config(a, 1, set)
					}
					if err != nil {
						t.Errorf("%s, %s, fast %v, scale %q: %v", name, a.Name, fast, scale.Name, err)
					}
				}
			}
		}
	}
	if Find("none such") != nil {
		t.Error("an unknown name must give nil")
	}
}
