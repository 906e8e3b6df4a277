package keys

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/objective"
)

// settings is a configuration of two sections, one of them free.
type settings struct {
	Train trainSettings
	Loss  map[string]any
}

type trainSettings struct {
	Epochs int
	Rate   float64
	Kind   string
	Strict bool
	Parts  []part
}

type part struct {
	Prefix string  `yaml:"prefix"`
	Scale  float64 `yaml:"scale"`
}

func table() *Table[settings] {
	return &Table[settings]{
		Keys: []Key[settings]{
			{Name: "train.epochs", Help: "how long",
				Checks:      []Check{AtLeast(0), AtMost(9, " epochs")},
				UseRecorded: func(_, _ *settings) bool { return true }},
			{Name: "train.rate", Help: "how fast", Default: 0.5,
				Checks: []Check{Positive}},
			{Name: "train.kind", Values: []string{"a", "b"},
				Checks: []Check{OneOf},
				Inapplicable: func(c *settings) string {
					if c.Train.Epochs == 0 {
						return "only with epochs"
					}
					return ""
				}},
			{Name: "train.strict", Opposite: "train.lax"},
			{Name: "train.parts"},
			{Name: "loss.name", Help: "the loss"},
		},
		CheckFree:   func(*settings) error { return nil },
		Sections:    []string{"train", "loss"},
		Important:   []string{"train.rate"},
		FurtherKeys: func(string, map[string]any) string { return "and more" },
	}
}

func parseSettings(t *testing.T, text string, overrides ...string) (settings, error) {
	t.Helper()
	c := settings{Loss: map[string]any{}}
	table().Reset(&c)
	return c, table().Parse(&c, "f", []byte(text), overrides...)
}

// What is written is read again, and annotated for people.
func TestParseAndWrite(t *testing.T) {
	c := settings{Loss: map[string]any{}}
	tab := table()
	tab.Reset(&c)
	text := "train: {epochs: 3, kind: b, lax: false, parts: [{prefix: x, scale: 2}]}\nloss: {name: l}\n"
	if err := tab.Parse(&c, "f", []byte(text)); err != nil {
		t.Fatal(err)
	}
	if tr := &c.Train; tr.Epochs != 3 || tr.Rate != 0.5 || tr.Kind != "b" || !tr.Strict || len(tr.Parts) != 1 ||
		tr.Parts[0].Scale != 2 || c.Loss["name"] != "l" {
		t.Errorf("read as %+v", c)
	}
	again := settings{Loss: map[string]any{}}
	if err := tab.Parse(&again, "g", tab.YAML(&c)); err != nil || fmt.Sprint(again) != fmt.Sprint(c) {
		t.Errorf("%+v became %+v: %v", c, again, err)
	}
	given := settings{Loss: map[string]any{}}
	tab.Reset(&given)
	note := string(tab.Annotate(&given, &c))
	for _, want := range []string{"train:\n  # how fast\n  rate: 0.5\n  # how long\n", "value for these data: 3\n  " +
		"#epochs: 0\n",
		"loss:\n  # the loss\n  name: l\n  # and more\n"} {
		if !strings.Contains(note, want) {
			t.Errorf("no %q in\n%s", want, note)
		}
	}
}

// Mistakes name their place and the way out.
func TestMistakes(t *testing.T) {
	for want, c := range map[string]struct{ text, set string }{
		`f:2: unknown key "train.epocs" (did you mean "train.epochs"?)`: {text: "train:\n  epocs: 3\n"},
		`train.epochs: 10: must be at most 9 epochs`:                    {text: "train: {epochs: 10}"},
		`train.kind: "c": must be a or b`:                               {text: "train: {kind: c}"},
		`train.kind: only with epochs`:                                  {text: "train: {kind: a}"},
		`override train.rate=0`:                                         {set: "train.rate=0"},
		`train.lax: "x": must be true or false`:                         {text: "train: {lax: x}"},
		`unknown key "scal" (did you mean "scale"?)`:                    {text: "train: {parts: [{scal: 3}]}"},
		`(did you mean "train.rate"?)`:                                  {text: "loss: {a: 1}\ntrain: {rat: 1}"},
	} {
		set := []string{c.set}
		if c.set == "" {
			set = nil
		}
		_, err := parseSettings(t, c.text, set...)
		var all objective.KeyErrors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not say %q", c.text+c.set, err, want)
		}
	}
}

// The same key in another section is likelier than one that is spelt like it.
func TestSuggest(t *testing.T) {
	names := []string{"train.epochs", "eval.every"}
	for word, want := range map[string]string{"train.epohcs": "train.epochs", "eval.epochs": "train.epochs",
		"train.zzzzzzzzzzzzzzz": "", "x": ""} {
		if got := suggest(word, names); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// Of more than a hundred mistakes the first are listed, and that there are more.
func TestManyMistakes(t *testing.T) {
	text := "train:\n"
	for i := range 5000 {
		text += fmt.Sprintf("  k%d: 1\n", i)
	}
	_, err := parseSettings(t, text)
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != maxMistakes+1 || !strings.HasPrefix(lines[0], `f:2: unknown key "train.k0"`) ||
		!strings.Contains(lines[maxMistakes], "more mistakes") {
		t.Errorf("%d lines: %.100s ... %s", len(lines), lines[0], lines[len(lines)-1])
	}
}

// Keys that a run was begun with fill in what a configuration leaves unset, where their entries
// say so.
func TestTakeOver(t *testing.T) {
	was := settings{Train: trainSettings{Epochs: 7, Kind: "a"}}
	for now, want := range map[int]int{0: 7, 2: 2} {
		c := settings{Train: trainSettings{Epochs: now}}
		if table().UseRecorded(&c, &was); c.Train.Epochs != want || c.Train.Kind != "" {
			t.Errorf("%d epochs became %+v", now, c)
		}
	}
}
