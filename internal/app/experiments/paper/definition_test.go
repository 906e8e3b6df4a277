package paper

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// parseExperiments returns the experiments of a text, with a data set and groups that it can name.
func parseExperiments(text string) ([]*Experiment, error) {
	d := &definitions{datasets: map[string]Dataset{}, groups: map[string]string{}}
	const shared = "datasets:\n  set: {title: A set, images: 9}\ngroups:\n  pairs:\n  - [a, b]\n  - [1-5]\n"
	if err := parseDefinitions("shared.yaml", []byte(shared), d); err != nil {
		return nil, err
	}
	if err := parseDefinitions("file.yaml", []byte(text), d); err != nil {
		return nil, err
	}
	return d.experiments()
}

const first = `name: first
title: A title
dataset: set
about: >-
  Two lines
  are one.
set: {data.name: set, data.label: {groups: pairs}, eval.metrics: ["fine:nmi", recall],
  loss.plus: [{name: a, weight: 1.0}], data.train_classes: , train.lr: 0.00010}
scales:
- {name: small, about: few, set: {train.epochs: 2}}
- {name: large, about: many}
measures:
- {key: test_recall@1, name: R@1, group: test}
figure: {x: n, caption: All.}
space:
  scale: small
  held: Half.
  ranges: {train.lr: {low: 0.0001, high: 0.01, log: true}, loss.distance: [squared, euclidean]}
  plan: {folds: images:2, search: random}
arms:
- {name: plain, set: {loss.name: nca}, ranges: {loss.margin: [0.1, 0.2]}, start: {loss.margin: 0.1}, published: [1.5]}
- {name: easy, baseline: plain, published: [null], set: {loss.name: nca, mine.positives: easy}}
`

// TestDefinitions: an experiment has what its file says, in that order, and everything else from
// the experiment that it is like.
func TestDefinitions(t *testing.T) {
	list, err := parseExperiments(first + `---
name: second
like: first
title: Another
figure: none
scales: [{like: small, set: {train.epochs: 3}}]
space: {of: first, kept: As there.}
arms:
- {like: plain}
- {name: third, like: easy, tuned: plain, change: {sample.classes: 4}, series: s, at: 2.5}
---
name: third
like: first
scales: none
space: none
`)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := list[0], list[1], list[2]
	for _, x := range []struct{ got, want any }{
		{a.About, "Two lines are one."}, {a.Dataset, Dataset{Name: "set", Title: "A set", Images: 9}},
		{a.Base, []string{"data.name=set", "data.label=groups:a,b|1-5", "eval.metrics=[fine:nmi, recall]",
			"loss.plus=[{name: a, weight: 1.0}]", "data.train_classes=", "train.lr=0.00010"}},
		{a.Space.Ranges, []string{"train.lr={low: 0.0001, high: 0.01, log: true}",
			"loss.distance=[squared, euclidean]"}},
		{a.Space.Plan, []string{"folds: images:2", "search: random"}},
		{a.published(0, 0), Number(1.5)}, {a.published(1, 0).isKnown(), false},
		{b.Title + b.About, "AnotherTwo lines are one."}, {b.Sweep == nil, true}, {b.Base, a.Base},
		{b.Scales, []Scale{{"small", "few", []string{"train.epochs=3"}}}},
		{b.Space.Of + b.Space.Kept + b.Space.Held, "firstAs there.Half."},
		{b.Arms[0].Name + b.Arms[0].Baseline, "plain"}, {b.Arms[0].Published == nil, true},
		{b.Arms[0].Ranges, []string{"loss.margin=[0.1, 0.2]"}},
		{b.Arms[1].Name + b.Arms[1].Baseline + b.Arms[1].Tuned + b.Arms[1].Series, "thirdplains"},
		{b.Arms[1].Set, a.Arms[1].Set}, {b.Arms[1].Change, []string{"sample.classes=4"}}, {b.Arms[1].At, 2.5},
		{len(c.Arms), 2}, {c.Scales == nil, true}, {c.Space == nil, true}, {c.Title, "A title"}, {*c.Sweep, *a.Sweep},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%#v, want %#v", x.got, x.want)
		}
	}
	b.Base[0], c.Arms[0].Set[0], b.Scales[0].Set[0], b.Space.Held = "changed", "changed", "changed", "changed"
	c.Arms[0].Published[0] = 99
	if a.Base[0] != "data.name=set" || a.Arms[0].Set[0] != "loss.name=nca" || a.Space.Held != "Half." ||
		a.published(0, 0) != 1.5 {
		t.Error("experiments share what can be changed")
	}
}

// TestDefinitionErrors: all errors of a file are reported, with their lines.
func TestDefinitionErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"name: a\ntitel: b\nseeds: none\n", `file.yaml:2: an experiment has no key "titel" (did you mean "title"?)`},
		{"name: a\ntitel: b\nseeds: none\n", `file.yaml:3: "none" is not a whole number from 1`},
		{"title: a\n", "file.yaml:1: an experiment needs a name"},
		{"name: a\n---\nname: a\n", "file.yaml:3: there is an experiment a already"},
		{"name: a\nname: b\n", "file.yaml: "},
		{"name: a\nset: {lr: 1}\n", `file.yaml:2: set: "lr" is not a key of the configuration`},
		{"name: a\nset:\n  data.label: {groups: none}\n", `file.yaml:3: there are no groups called "none"`},
		{"name: a\nset:\n  loss.plus: [\"a, b\"]\n", "file.yaml:3: values inside a value must not need quotes"},
		{"name: a\narms: {name: b}\n", "file.yaml:2: arms is a list"},
		{"name: a\narms:\n- {name: b, task: {do: fly}}\n", `file.yaml:3: no task is called "fly"`},
		{"name: a\narms:\n- {name: b, task: {do: find kinds, on: moon}}\n", `file.yaml:3: set "moon" is not scored`},
		{"name: a\narms:\n- {name: b, task: {do: train on mended labels, labels: none}}\n", `"none" is not a cure`},
		{"name: a\narms:\n- {name: b, task: {do: find copies, copies: 2, cut: 1.5}}\n", "file.yaml:3: copies need cut"},
		{"name: a\narms:\n- {name: b, at: much}\n", `file.yaml:3: "much" is not a number`},
		{"name: a\nrow:\n  heap: b\n", "file.yaml:3: heap needs each, the number of photos"},
		{"name: a\nown: perhaps\n", `file.yaml:2: "perhaps": must be true or false`},
		{"name: [a]\n", "file.yaml:1: want a single value"},
		{"- a\n", "file.yaml:1: "},
		{"name: a\nset: &x {}\n", "file.yaml: line 2: anchors and aliases"},
		{"name: a\nlike: b\n", `experiment a: no experiment before it is called "b"`},
		{"name: a\ndataset: b\n", `experiment a: no data set is called "b"`},
		{"name: a\nscales: [{like: b}]\n", `experiment a: a scale is like "b"`},
		{"name: a\nspace: {of: b}\n", `experiment a: no experiment before it called "b"`},
		{"name: a\narms: [{like: b}]\n", `experiment a: an arm is like "b"`},
		{"name: a\narms: [{name: b, published: [1]}]\n", "experiment a: arm b: 1 published numbers for 0 measures"},
	} {
		if _, err := parseExperiments(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q of\n%s", err, c.want, c.text)
		}
	}
	d := &definitions{datasets: map[string]Dataset{}, groups: map[string]string{}}
	if err := parseDefinitions("shared.yaml", []byte("datasets: {a: {images: 0}}\n"), d); err == nil ||
		!strings.Contains(err.Error(), "shared.yaml:1: ") {
		t.Errorf("a set without images: %v", err)
	}
}

// TestCatalog: every file is read, every experiment can be configured in every size, and
// experiments do not share slices.
func TestCatalog(t *testing.T) {
	entries, err := experimentFiles.ReadDir("experiments")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(experimentFileNames(), strings.TrimSuffix(e.Name(), ".yaml")) {
			t.Errorf("%s is not read", e.Name())
		}
	}
	if len(entries) != len(experimentFileNames()) {
		t.Errorf("%d files, %d are read", len(entries), len(experimentFileNames()))
	}
	if e := Find("none"); e != nil {
		t.Errorf("%+v", e)
	}
	before := Find("omniglot")
	published := before.Arms[0].Published[0]
	for _, e := range newExperiments() {
		if e.Title == "" || e.Source == "" || e.About == "" || e.Tuning == "" || e.Dataset.Images == 0 ||
			len(e.Measures) == 0 {
			t.Errorf("%s lacks something: %+v", e.Name, e)
		}
		for i := range e.Arms {
			e.Base[0] = "changed=1"
			for k := range e.Arms[i].Published {
				e.Arms[i].Published[k] = 99
			}
			if set := e.Arms[i].Set; len(set) > 0 {
				set[0] = "changed=1"
			}
		}
	}
	if after := Find("omniglot"); !slices.Equal(after.Base, before.Base) ||
		!slices.Equal(after.Arms[0].Set, before.Arms[0].Set) || after.Arms[0].Published[0] != published {
		t.Error("what one caller changes another one sees")
	}
}

// FuzzDefinitions: a file is read, or refused with its name; what is read is built or refused.
func FuzzDefinitions(f *testing.F) {
	f.Add(first)
	f.Add("name: a\nlike: a\nscales: none\n---\nname: b\nlike: a\narms:\n- {like: c, task: {do: find kinds}}\n")
	f.Add("datasets: {a: {images: 1}}\ngroups: {b: [[1], [2]]}\n")
	f.Add("name: a\nrow: {name: b, things: c, each: 2, heap: d, photos: true}\ndataset: set\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseExperiments(text)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.Name == "" {
				t.Error("an experiment without a name")
			}
		}
	})
}
