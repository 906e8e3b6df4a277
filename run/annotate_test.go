package run

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// settled plans a run on small pictures.
func settled(t *testing.T, overrides ...string) (given, resolved Config) {
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
		given, resolved := settled(t, overrides...)
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
	given, resolved := settled(t, "train.clip=3")
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
		"  #momentum: 0.9\n", "for these data it comes to 1\n  #channels: 0\n", "see docs/losses/supcon.md\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, k := range table.Important {
		if s, _, _ := strings.Cut(k, "."); s != "loss" && s != "mine" && table.Named(k) == nil {
			t.Errorf("%s is no key", k)
		}
	}
}

// Plan finds what Train would refuse, and writes nothing.
func TestPlan(t *testing.T) {
	for _, override := range []string{"network.name=vit_tiny_patch16", "sample.classes=100", "data.label=none"} {
		cfg, err := Parse("", nil, "data.path=blobs", override)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		opts := Options{Dataset: newBlobs(6, 10, 20), Dir: dir}
		_, planned := Plan(t.Context(), cfg, opts)
		_, trained := Train(t.Context(), cfg, opts)
		if planned == nil || trained == nil || planned.Error() != trained.Error() {
			t.Errorf("%s: planned: %v; trained: %v", override, planned, trained)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the folder is there", override)
		}
	}
}
