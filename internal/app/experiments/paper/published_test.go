package paper

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/refdata"
)

// methodSheet returns the text of the sheet that resolves the papers' misprints.
func methodSheet(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(refdata.Path(t, "spec", "method.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// published returns the paper's number of an arm for a measure of an experiment, and counts its
// uses.
func published(t *testing.T, e *Experiment, arm, group, name string, used map[string]int) string {
	t.Helper()
	for i := range e.Arms {
		if e.Arms[i].Name != arm {
			continue
		}
		for k, m := range e.Measures {
			if m.Group == group && m.Name == name && e.Arms[i].Published != nil {
				used[e.Name]++
				return fmt.Sprintf("%.1f", e.Arms[i].Published[k])
			}
		}
	}
	t.Fatalf("%s, %s: no published %s %s", e.Name, arm, group, name)
	return ""
}

// TestPublishedNumbersAreTheSheets writes the sheet's sentences with the experiments' published
// numbers and looks for each sentence in the sheet. Every published number must be in a sentence.
func TestPublishedNumbersAreTheSheets(t *testing.T) {
	sheet := strings.Join(strings.Fields(methodSheet(t)), " ")
	used := map[string]int{}
	// fill replaces {arm|group|measure} by its number.
	fill := func(e *Experiment, sentence string) string {
		for {
			from := strings.IndexByte(sentence, '{')
			if from < 0 {
				return sentence
			}
			to := from + strings.IndexByte(sentence[from:], '}')
			part := strings.Split(sentence[from+1:to], "|")
			sentence = sentence[:from] + published(t, e, part[0], part[1], part[2], used) + sentence[to+1:]
		}
	}
	photo := func(e *Experiment, sentence string) string {
		return fill(e, strings.NewReplacer("[", "{", "]", "|test classes|R@1}").Replace(sentence))
	}
	const first, second = "EPHN, first order", "EPHN, second order"
	cars, cub, sop, inshop := Find("cars"), Find("cub"), Find("sop"), Find("inshop")
	for _, want := range []string{
		fill(Find("mnist"), "train digits R@1/5/10 {Triplet|digits 0-5|R@1}/{Triplet|digits 0-5|R@5}/{Triplet|digits "+
			"0-5|R@10} -> {Trip+EPS|digits 0-5|R@1}/{Trip+EPS|digits 0-5|R@5}/{Trip+EPS|digits 0-5|R@10}"),
		fill(Find("mnist"),
			"unseen digits 6-9 {Triplet|digits 6-9|R@1}/{Triplet|digits 6-9|R@5}/{Triplet|digits 6-9|R@10} "+
				"-> {Trip+EPS|digits 6-9|R@1}/{Trip+EPS|digits 6-9|R@5}/{Trip+EPS|digits 6-9|R@10}"),
		fill(Find("omniglot"),
			"Letters R@1: Trip+SH {Trip+SH|letters|R@1}, ProxyNCA {ProxyNCA|letters|R@1}, Dist-Margin "+
				"{Dist-Margin|letters|R@1}, MS {MS|letters|R@1}; with EPS {EPS+Trip+SH|letters|R@1}, -, "+
				"{EPS+Dist-Margin|letters|R@1}, {EPS+MS|letters|R@1}"),
		fill(Find("omniglot"), "Languages R@1: {Trip+SH|languages|R@1}, {ProxyNCA|languages|R@1}, "+
			"{Dist-Margin|languages|R@1}, {MS|languages|R@1}; with EPS {EPS+Trip+SH|languages|R@1}, -, "+
			"{EPS+Dist-Margin|languages|R@1}, {EPS+MS|languages|R@1}"),
		fill(Find("omniglot-train"), "without EPS language R@1 {Trip+SH|languages, training set|R@1} and letters "+
			"{Trip+SH|letters, training set|R@1}; with EPS {EPS+Trip+SH|languages, training set|R@1} and "+
			"{EPS+Trip+SH|letters, training set|R@1}"),
		photo(cars, "Cars R@1: Trip+SH [Trip+SH] -> [EPS+Trip+SH] with EPS, Dist-Margin [Dist-Margin] -> "+
			"[EPS+Dist-Margin], MS [MS] -> [EPS+MS], ProxyNCA [ProxyNCA]"),
		photo(cub, "CUB: [Trip+SH] -> [EPS+Trip+SH], [Dist-Margin] -> [EPS+Dist-Margin], [MS] -> [EPS+MS], [ProxyNCA]"),
		"R@1: EPHN first order CUB " + photo(cub, "["+first+"]") + ", Cars " + photo(cars, "["+first+"]") + ", SOP " +
			photo(sop, "["+first+"]") + ", In-Shop " + photo(inshop, "["+first+"]") +
			"; second order " + photo(cub, "["+second+"]") + ", " + photo(cars, "["+second+"]") + ", " +
			photo(sop, "["+second+"]") + ", " + photo(inshop, "["+second+"]"),
	} {
		if !strings.Contains(sheet, want) {
			t.Errorf("the sheet does not say %q", want)
		}
	}
	for _, name := range Names() {
		e, n := Find(name), 0
		for _, a := range e.Arms {
			for _, v := range a.Published {
				if !math.IsNaN(v) {
					n++
				}
			}
		}
		if n != used[name] {
			t.Errorf("%s has %d published numbers, of which %d were looked up in the sheet", name, n, used[name])
		}
	}
}

func TestExperimentsAreConsistent(t *testing.T) {
	for _, name := range Names() {
		e := Find(name)
		if e == nil || e.Name != name || e.Title == "" || e.Source == "" || e.About == "" || e.Tuning == "" ||
			e.Dataset.Name == "" || e.Dataset.Title == "" || e.Dataset.Images == 0 {
			t.Fatalf("%s: incomplete: %+v", name, e)
		}
		for i := range e.Arms {
			a := &e.Arms[i]
			if a.Published != nil && len(a.Published) != len(e.Measures) {
				t.Errorf("%s, %s: %d published numbers for %d measures", name, a.Name, len(a.Published),
					len(e.Measures))
			}
			if a.Baseline != "" && e.arm(a.Baseline) < 0 {
				t.Errorf("%s, %s: no arm is called %s", name, a.Name, a.Baseline)
			}
			for _, fast := range []bool{false, true} {
				for _, scale := range append([]Scale{{}}, e.Scales...) {
					o, err := Options{Fast: fast, Scale: scale.Name}.resolve(e)
					if err == nil {
						_, err = e.config(a, 1, o.settings(a))
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
