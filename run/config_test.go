package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/objective"
)

// contract is the configuration as the design states it.
const contract = `data:    {name: mnist, path: "", size: 28, label: parity, fine: digit, train_classes: "0-5", test_classes: "6-9", augment: none}
network: {name: mnist, dim: 2, normalize: false, pretrained: ""}
sample:  {classes: 2, per_class: 64}
mine:    {positives: easy, negatives: facenet}
loss:    {name: triplet, margin: 0.2, distance: squared, reduce: mean}
train:   {epochs: 10, optimizer: adam, lr: 0.001, schedule: constant, seed: 1}
eval:    {recall: [1, 5, 10], every: 1}
`

var unexported = cmp.AllowUnexported(DataConfig{})

func TestParseContract(t *testing.T) {
	got, err := Parse("run.yaml", []byte(contract))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Data.Name, want.Data.Size, want.Data.Label, want.Data.Fine = "mnist", 28, "parity", "digit"
	want.Data.TrainClasses, want.Data.TestClasses, want.Data.Augment = "0-5", "6-9", "none"
	want.Train.LR, want.Train.Epochs, want.Train.Schedule = 0.001, 10, "constant"
	want.Network.Name, want.Network.Dim, want.Network.Normalize = "mnist", 2, Off
	want.Sample = SampleConfig{Name: "balanced", Classes: 2, PerClass: 64}
	want.Mine = Section{"positives": "easy", "negatives": "facenet"}
	want.Loss = Section{"name": "triplet", "margin": 0.2, "distance": "squared", "reduce": "mean"}
	if d := cmp.Diff(want, got, unexported); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestOverrides(t *testing.T) {
	got, err := Parse("run.yaml", []byte(contract), "train.lr=1e-2", "eval.recall=1,2,4", "loss.margin=0.5",
		"data.train_classes=3", "network.freeze=[layer1, conv1]", "data.augment=", "network.normalize=auto",
		"train.groups=[{prefix: fc, scale: 0.1}]", "mine.positives=random", "train.seed=18446744073709551615")
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]any{
		"lr":        {got.Train.LR, 0.01},
		"recall":    {got.Eval.Recall, []int{1, 2, 4}},
		"classes":   {got.Data.TrainClasses, "3"},
		"freeze":    {got.Network.Freeze, []string{"layer1", "conv1"}},
		"augment":   {got.Data.Augment, ""},
		"normalize": {got.Network.Normalize, Auto},
		"groups":    {got.Train.Groups, []Group{{Prefix: "fc", Scale: 0.1}}},
		"positives": {got.Mine["positives"], "random"},
		"seed":      {got.Train.Seed, ^uint64(0)},
	} {
		if d := cmp.Diff(pair[1], pair[0]); d != "" {
			t.Errorf("%s: -want +got\n%s", what, d)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text     string
		set      []string
		contains []string
	}{
		{"train:\n  epochs: 3\n  learning_rate: 1\n", nil, []string{"run.yaml:3", `unknown key "train.learning_rate"`}},
		{"train: {epoch: 3}", nil, []string{"run.yaml:1", `did you mean "train.epochs"?`}},
		{"train: {per_class: 3}", nil, []string{`did you mean "sample.per_class"?`}},
		{"\n\nsampel: {classes: 2}", nil, []string{"run.yaml:3", `did you mean "sample"?`}},
		{"loss: {name: triplet,\n  margn: 0.3}", nil, []string{"run.yaml:2", "loss.margn", `did you mean "margin"?`}},
		{"loss: {name: triplt}", nil, []string{"run.yaml:1", "loss.name", `did you mean "triplet"?`}},
		{"mine: {positives: esy}", nil, []string{"run.yaml:1", "mine.positives", `did you mean "easy"?`}},
		{"train: {lr: fast}", nil, []string{"run.yaml:1", "train.lr", `"fast": must be a number`}},
		{"train: {lr: .nan}", nil, []string{"train.lr", `".nan": must be a number`}},
		{"train: {lr: -1}", nil, []string{"run.yaml:1", "train.lr", "negative"}},
		{"train: {epochs: 1.5}", nil, []string{"train.epochs", `"1.5": must be a whole number`}},
		{"train: {epochs: 2147483648}", nil,
			[]string{"train.epochs", "2147483648: must be -2147483648 to 2147483647"}},
		{"train: {seed: 18446744073709551616}", nil,
			[]string{"train.seed", "18446744073709551616: must be 0 to 18446744073709551615"}},
		{"train: {epochs: [1, 2]}", nil, []string{"train.epochs", "single value"}},
		{"train: {epochs: -1}", nil, []string{"train.epochs", "must be 0 or more"}},
		{"train: {optimizer: adm}", nil, []string{"train.optimizer", `did you mean "adam"?`}},
		{"train: {groups: [{prefx: a}]}", nil, []string{"train.groups", `did you mean "prefix"?`}},
		{"network: {normalize: perhaps}", nil, []string{"network.normalize", "must be auto, true or false"}},
		{"eval: {recall: []}", nil, []string{"eval.recall"}},
		{"eval: {distance: cosin}", nil, []string{"run.yaml:1", "eval.distance"}},
		{"eval: {metrics: [recal@1]}", nil, []string{"eval.metrics"}},
		{"train: 3", nil, []string{"run.yaml:1", "section train"}},
		{"just words", nil, []string{"run.yaml:1"}},
		{"a: [1, ", nil, []string{"run.yaml"}},
		{"train: {lr: 1}\n---\ntrain: {lr: 2}", nil, []string{"second document"}},
		{"train: {lr: 1, lr: 2}", nil, []string{"run.yaml", "lr"}},
		{"", []string{"train.epohcs=3"}, []string{"override train.epohcs=3", `did you mean "train.epochs"?`}},
		{"", []string{"epochs=3"}, []string{"override epochs=3", "section.key=value"}},
		{"", []string{"train.epochs"}, []string{"section.key=value"}},
		{"", []string{"trian.epochs=3"}, []string{`did you mean "train"?`}},
		{"", []string{"train.epochs=["}, []string{"override train.epochs=["}},
	} {
		_, err := Parse("run.yaml", []byte(c.text), c.set...)
		if err == nil {
			t.Errorf("%q %v: no error", c.text, c.set)
			continue
		}
		for _, want := range c.contains {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q %v: error %q does not contain %q", c.text, c.set, err, want)
			}
		}
	}
}

// TestKeyErrors: the place, the key and the text of a mistake are apart from one another.
func TestKeyErrors(t *testing.T) {
	const text = "train:\n  epochs: -1\nmine: {fallback: soft}\n"
	_, err := Parse("run.yaml", []byte(text), "train.lr=-2", "loss.margin=-3")
	var got objective.KeyErrors
	if !errors.As(err, &got) {
		t.Fatalf("%T: %v", err, err)
	}
	want := objective.KeyErrors{
		{Place: "run.yaml:2", Key: "train.epochs", Text: "-1: must be 0 or more"},
		{Override: "train.lr=-2", Key: "train.lr", Text: "-2: must not be negative"},
		{Override: "loss.margin=-3", Key: "loss.margin", Text: "-3 is negative"},
		{Place: "run.yaml:3", Key: "mine.fallback",
			Text: `unknown value "soft" (did you mean "none"?); there are none, hard`},
	}
	if d := cmp.Diff(want, got, unexported); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for text, place := range map[string]string{"trian: {lr: 1}": "run.yaml:1", "a: [": "run.yaml"} {
		_, err := Parse("run.yaml", []byte(text))
		if !errors.As(err, &got) || len(got) != 1 || got[0].Place != place || got[0].Key != "" || got[0].Text == "" {
			t.Errorf("%q: %+v", text, err)
		}
	}
}

func TestEmptyConfigIsDefault(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "train:\n", "train: {}\n", "train: {lr: null}\n"} {
		got, err := Parse("run.yaml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if d := cmp.Diff(Default(), got, unexported); d != "" {
			t.Errorf("%q: -want +got\n%s", text, d)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{contract, "", "train: {lr: 1e-3}", "a: &x [1]\nb: *x", "train:\n  - 1", "? a\n: b",
		"%YAML 1.2\n---\n", "data: |\n  x", "train: {groups: [{prefix: a, scale: 1}]}", "\xff\xfe", "loss: {name: {}}",
		"mine: {? : 1}"} {
		f.Add(s, "train.lr=1")
	}
	f.Add("", "data.name=[[")
	f.Add("", "loss.name=!!binary x")
	f.Fuzz(func(t *testing.T, text, set string) {
		cfg, err := Parse("f", []byte(text), set)
		if err != nil {
			return
		}
		// What was accepted survives being written and read again.
		again, err := Parse("g", cfg.YAML())
		if err != nil {
			t.Fatalf("%q, %q gives a configuration that is refused when written:\n%s\n%v", text, set, cfg.YAML(), err)
		}
		if d := cmp.Diff(string(cfg.YAML()), string(again.YAML())); d != "" {
			t.Fatalf("%q, %q changes when written and read:\n%s", text, set, d)
		}
	})
}

func TestQuotedKeys(t *testing.T) {
	got, err := Parse("run.yaml", []byte(`"train": {"lr": 0.5, 'epochs': 2}`))
	if err != nil || got.Train.LR != 0.5 || got.Train.Epochs != 2 {
		t.Errorf("lr %v, epochs %v, %v", got.Train.LR, got.Train.Epochs, err)
	}
}

// A configuration from another system reads the same; one that is built to take
// memory or time is refused at once.
func TestParseWithinBounds(t *testing.T) {
	plain := "train: {epochs: 3}\nnetwork:\n  name: conv4\n"
	want, err := Parse("f", []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("f", []byte("\ufeff"+strings.ReplaceAll(plain, "\n", "\r\n")))
	if err != nil || string(got.YAML()) != string(want.YAML()) {
		t.Errorf("with a mark and carriage returns: %v\n%s", err, got.YAML())
	}
	for text, says := range map[string]string{
		strings.Repeat("[",
			200_000): "f: line 1: values are nested more than 100 deep",
		"loss:\n  a: &a [x,x,x]\n  b: &b [*a,*a,*a]\n  c: [*b,*b,*b]\n": "f: line 2: anchors and aliases",
		"train: {epochs: 3}\n" + strings.Repeat("# long\n", 200_000):    "f: more than 1048576 bytes of YAML",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%.20q: error %v, want one that begins %q", text, err, says)
		}
	}
	if _, err := Parse("f", nil, "loss.name="+strings.Repeat("[", 1000)); err == nil ||
		!strings.Contains(err.Error(), "nested more than 100 deep") {
		t.Errorf("an override: %v", err)
	}
}

func TestName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shoes")
	inner := filepath.Join(dir, "x")
	if err := os.MkdirAll(inner, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(inner)
	for _, c := range []struct{ name, path, want string }{
		{"mnist", "", "mnist"},
		{"", "photos/", "photos"},
		{"", "a/b.csv", "b.csv"},
		{"", ".", "x"},
		{"", "..", "shoes"},
		{"", "../", "shoes"},
		{"", string(filepath.Separator), "data"},
	} {
		cfg := Default()
		cfg.Data.Name, cfg.Data.Path = c.name, c.path
		if got := cfg.Name(); got != c.want {
			t.Errorf("data %q, path %q: %q, want %q", c.name, c.path, got, c.want)
		}
	}
}

// TestPathsOfAnyText checks that a run's configuration names the data that it was
// trained on, whatever characters the path has.
func TestPathsOfAnyText(t *testing.T) {
	for _, s := range []string{"a\tb", "\ta", "a\t", "a\r", "a\rb", "a\n", "a\nb", "\n", " a ", "a: b", "a #b", "#a",
		"- a", "'a'", `"a"`, `a\b`, "*a", "&a", "null", "~", "0x10", "1e3", "true", "\x1b[0m", "\x7f", "\u0085",
		"\u2028", "\ufeffa", "\u202e", "ä"} {
		c := Default()
		c.Data.Path, c.Train.Groups, c.Loss = s, []Group{{Prefix: s, Scale: 1}}, Section{"name": "triplet"}
		got, err := Parse("run.yaml", c.YAML())
		if err != nil || got.Data.Path != s || len(got.Train.Groups) != 1 || got.Train.Groups[0].Prefix != s {
			t.Errorf("%q came back as %q, %+v, %v", s, got.Data.Path, got.Train.Groups, err)
		}
	}
}

// What data.strict was called in earlier configurations says the opposite.
func TestEarlierStrict(t *testing.T) {
	for text, want := range map[string]bool{
		"data:\n  skip_corrupt: false\n": true, "data:\n  skip_corrupt: true\n": false,
		"data:\n  skip_corrupt:\n": false,
		"data:\n  path: x\n":       false, "data:\n  strict: true\n": true,
	} {
		cfg, err := Parse("c.yaml", []byte(text))
		if err != nil || cfg.Data.Strict != want {
			t.Errorf("%q: strict %v, %v", text, cfg.Data.Strict, err)
		}
	}
	if _, err := Parse("c.yaml", []byte("data:\n  skip_corrupt: maybe\n")); err == nil ||
		!strings.Contains(err.Error(), `c.yaml:2: data.skip_corrupt: "maybe": must be`) {
		t.Errorf("%v", err)
	}
}

// planConfigs plans a run on small pictures.
func planConfigs(t *testing.T, overrides ...string) (given, resolved Config) {
	t.Helper()
	given, err := Parse("", nil, append([]string{"data.path=blobs"}, overrides...)...)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Plan(t.Context(), given, Options{Dataset: newBlobs(6, 10, 20)})
	if err != nil {
		t.Fatal(err)
	}
	return given, plan.Config
}

// What Annotate writes is the configuration that was given, with the keys that
// matter settled, and stays that if comments are made keys.
func TestAnnotateMeansTheSame(t *testing.T) {
	for _, overrides := range [][]string{
		nil,
		{"loss.name=margin", "loss.beta=1.1", "network.dim=2", "network.freeze=conv1,bn1", "sample.per_class=3"},
		{"data.strict=true", "train.groups=[{prefix: fc, scale: 10}]", `data.augment="light"`, "train.seed=9"},
	} {
		given, resolved := planConfigs(t, overrides...)
		text := resolved.Annotate(given)
		key := regexp.MustCompile(`(?m)^  #([a-z_]+: )`)
		for name, text := range map[string][]byte{"as written": text,
			"all keys": key.ReplaceAll(text, []byte("  $1"))} {
			cfg, err := Parse("run.yaml", text)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			again, err := Plan(t.Context(), cfg, Options{Dataset: newBlobs(6, 10, 20)})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !bytes.Equal(again.Config.YAML(), resolved.YAML()) {
				t.Errorf("%v, %s: comes to\n%s, not\n%s", overrides, name, again.Config.YAML(), resolved.YAML())
			}
		}
	}
}

// Every key is there once, with its help above it, those that matter first.
func TestAnnotateExplains(t *testing.T) {
	given, resolved := planConfigs(t, "train.clip=3")
	text := string(resolved.Annotate(given))
	section, help := "", ""
	seen, comments := map[string]string{}, map[string]bool{} // the help above a key; sections with a comment by now
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 100 && !strings.Contains(line, "path:") {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
		switch name, _, _ := strings.Cut(strings.TrimSpace(line), ":"); {
		case line == "":
		case !strings.HasPrefix(line, " "):
			section, help = name, ""
		case strings.HasPrefix(line, "  # "):
			help += line[4:] + " "
		case strings.HasPrefix(line, "  #"):
			seen[section+"."+name[1:]], help = help, ""
			comments[section] = true
		default:
			if comments[section] {
				t.Errorf("%s.%s comes after comments", section, name)
			}
			seen[section+"."+name], help = help, ""
		}
	}
	for _, k := range Reference() {
		if got, ok := seen[k.Name]; !ok || !strings.HasPrefix(got, k.Help) {
			t.Errorf("%s: help %q, want %q", k.Name, got, k.Help)
		}
	}
	if n := len(seen) - len(Reference()); n != 4 { // loss.name, loss.plus, mine.positives, mine.negatives
		t.Errorf("%d more keys than there are", n-4)
	}
	for _, want := range []string{"  size: 20\n", "  clip: 3.0\n", "  name: conv4\n", "  recall: [1, 5, 10]\n",
		"  seed: 1\n",
		"  #momentum: 0.9\n", "value for these data: 1\n  #channels: 0\n", "see docs/losses/supcon.md\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, k := range table.Important {
		if s, _, _ := strings.Cut(k, "."); s != "loss" && s != "mine" && table.Lookup(k) == nil {
			t.Errorf("%s is no key", k)
		}
	}
}
