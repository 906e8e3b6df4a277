package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run"
)

// completeArgs asks the program, as a shell's script does, and returns what it offers,
// without descriptions, and the directive.
func completeArgs(t *testing.T, args ...string) (offers []string, directive string) {
	t.Helper()
	code, out, errOut := runArgs(t, append([]string{"__complete"}, args...)...)
	if code != exitOK {
		t.Fatalf("%q: status %d, %s", args, code, errOut)
	}
	for line := range strings.Lines(out) {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if d, ok := strings.CutPrefix(line, ":"); ok {
			return offers, d
		}
		offers = append(offers, line)
	}
	t.Fatalf("%q: no directive in %q", args, out)
	return nil, ""
}

// The directives that are asked for, as cobra's scripts read them.
const (
	files, noFiles, noSpace, byExtension, onlyFolders = "0", "4", "6", "8", "16"
)

// TestCompletion asks for what the commands offer.
//
// Long: it is one table.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	home := filepath.Join(t.TempDir(), "data")
	t.Setenv(data.EnvHome, home)
	t.Setenv(weights.EnvHome, filepath.Join(home, "weights"))
	for _, dir := range []string{filepath.Join(home, "mnist"), filepath.Join(home, "weights"), "photos"} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	e, err := weights.Find("resnet18")
	if err != nil {
		t.Fatal(err)
	}
	cached := e.Path(filepath.Join(home, "weights"))
	if f, err := os.Create(cached); err != nil || f.Truncate(e.Bytes) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	writeShapes(t, "photos", 2, 2, 4)
	if code, _, errOut := runArgs(t, "train", "--data", "photos", "--set", "train.epochs=1", "--set", "data.size=16",
		"--out", "runs/tried"); code != exitOK {
		t.Fatal(errOut)
	}
	for _, c := range []struct {
		args      []string
		some      []string // that are offered
		directive string
	}{
		{[]string{"train", "--set", ""}, []string{"network.name=", "mine.positives=", "loss.margin=", "eval.keep="},
			noSpace},
		{[]string{"train", "--set", "network.name="}, []string{"network.name=resnet50"}, noFiles},
		{[]string{"train", "--set", "mine.positives=e"}, []string{"mine.positives=easy"}, noFiles},
		{[]string{"train", "--set", "loss.name="}, []string{"loss.name=triplet"}, noFiles},
		{[]string{"train", "--set", "data.cache="}, []string{"data.cache=true", "data.cache=false"}, noFiles},
		{[]string{"train", "--set", "network.pretrained="}, []string{"network.pretrained=" + cached}, noFiles},
		{[]string{"train", "--set", "train.lr="}, nil, noFiles},
		{[]string{"train", "--set", "no.key="}, nil, noFiles},
		{[]string{"train", "--data", "m"}, []string{"mnist"}, files},
		{[]string{"train", "--data", "photo"}, nil, files},
		{[]string{"train", "-c", ""}, []string{"yaml"}, byExtension},
		{[]string{"train", "--resume", ""}, []string{"runs/tried"}, noFiles},
		{[]string{"train", "--resume", "runs/"}, []string{"runs/tried"}, noFiles},
		{[]string{"train", "--resume", "pho"}, nil, onlyFolders},
		{[]string{"train", "--resume", "["}, nil, onlyFolders},
		{[]string{"train", "--out", ""}, nil, onlyFolders},
		{[]string{"train", ""}, []string{"mnist"}, files},
		{[]string{"train", "mnist", ""}, nil, noFiles},
		{[]string{"embed", "runs/a", ""}, []string{"mnist"}, files},
		{[]string{"embed", "runs/a", "mnist", ""}, nil, noFiles},
		{[]string{"report", ""}, []string{"runs/tried"}, noFiles},
		{[]string{"diagnose", ""}, []string{"runs/tried"}, files},
		{[]string{"diagnose", "E.n"}, nil, files},
		{[]string{"discover", ""}, []string{"runs/tried"}, files},
		{[]string{"clean", "runs/tried", ""}, nil, noFiles},
		{[]string{"clean", "--apply", ""}, []string{"drop"}, noFiles},
		{[]string{"embed", "--run", "runs/t"}, []string{"runs/tried"}, noFiles},
		{[]string{"search", ""}, nil, files},
		{[]string{"search", "a.jpg", "--in", "m"}, []string{"mnist"}, files},
		{[]string{"reproduce", ""}, []string{"mnist", "list", "document"}, noFiles},
		{[]string{"reproduce", "mnist", ""}, nil, noFiles},
		{[]string{"reproduce", "tune", ""}, []string{"mnist", "omniglot"}, noFiles},
		{[]string{"reproduce", "tune", "omniglot", "--scale", ""}, []string{"small"}, noFiles},
		{[]string{"reproduce", "mnist", "--arm", ""}, []string{"Trip+EPS"}, noFiles},
		{[]string{"reproduce", "--scale", ""}, nil, noFiles},
		{[]string{"reproduce", "mnist", "--set", "train.optimizer="}, []string{"train.optimizer=adamw"}, noFiles},
		{[]string{"data", "get", ""}, []string{"omniglot", "cub200"}, noFiles},
		{[]string{"data", "get", "mnist", ""}, nil, noFiles},
		{[]string{"data", "info", ""}, []string{"mnist"}, files},
		{[]string{"weights", "get", ""}, []string{"mobilenet_v2", "dinov2_vits14"}, noFiles},
		{[]string{"eval", "--metrics", "recall@1,"}, []string{"recall@1,nmi"}, noSpace},
		{[]string{"eval", "--distance", ""}, []string{"euclidean", "cosine", "dot"}, noFiles},
		{[]string{"eval", "--embeddings", ""}, nil, files},
		{[]string{"diagnose", "--set", ""}, []string{"seen"}, noFiles},
		{[]string{"map", "--method", ""}, []string{"pca"}, noFiles},
		{[]string{"map", "--perplexity", ""}, nil, noFiles},
		{[]string{"loss", "--loss", ""}, []string{"multisimilarity"}, noFiles},
		{[]string{"loss", "--positives", ""}, []string{"easy"}, noFiles},
		{[]string{"loss", "--loss", "multisimilarity", "--set", ""}, []string{"alpha=", "max_weight=",
			"negatives_from="}, noSpace},
		{[]string{"loss", "--set", "normalize="}, []string{"normalize=true"}, noFiles},
		{[]string{"loss", "--set", "fallback="}, []string{"fallback=hard"}, noFiles},
		{[]string{"theory", "field", "--loss", "first,"}, []string{"first,second"}, noSpace},
		{[]string{"theory", "live", "--loss", ""}, []string{"vanilla"}, noFiles},
		{[]string{"bench", ""}, []string{"gemm-2048x2048x2048"}, noFiles},
	} {
		offers, directive := completeArgs(t, c.args...)
		for _, want := range c.some {
			if !slices.Contains(offers, want) {
				t.Errorf("%q: offers %q, not %q", c.args, offers, want)
			}
		}
		if c.some == nil && len(offers) > 0 {
			t.Errorf("%q: offers %q", c.args, offers)
		}
		if directive != c.directive {
			t.Errorf("%q: directive %s, want %s", c.args, directive, c.directive)
		}
	}
	if offers, _ := completeArgs(t, "eval", "--metrics", "nmi,"); slices.Contains(offers, "nmi,nmi") {
		t.Error("a metric is offered twice")
	}
	if offers, _ := completeArgs(t, "loss", "--loss", "triplet", "--set", ""); slices.Contains(offers,
		"temperature=") ||
		slices.Contains(offers, "relation=") {
		t.Errorf("options of other losses are offered: %q", offers)
	}
}

// someLossTakes tells whether a loss takes a setting.
func someLossTakes(base []byte, setting string) bool {
	return slices.ContainsFunc(objective.LossNames(), func(l string) bool {
		_, err := run.Parse("", base, "loss.name="+l, setting)
		return err == nil
	})
}

// What is offered is accepted, an option of another loss than the default with that.
func TestOffersAreValid(t *testing.T) {
	for _, m := range complete.MetricNames() {
		if _, err := eval.ParseMetric(m); err != nil {
			t.Error(err)
		}
	}
	// The default's negatives do not go with all positives.
	base := []byte("train: {steps: [1]}\nmine: {negatives: hard}")
	keys, _ := completeArgs(t, "train", "--set", "")
	n := 0
	for _, k := range keys {
		offers, _ := completeArgs(t, "train", "--set", k)
		for _, o := range offers {
			n++
			_, err := run.Parse("", base, o)
			if strings.HasPrefix(o, "loss.") && err != nil && someLossTakes(base, o) {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", o, err)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d values are offered", n)
	}
	for _, l := range objective.LossNames() {
		offers, _ := completeArgs(t, "loss", "--loss", l, "--set", "")
		for _, o := range offers {
			flat := map[string]any{"loss": l, strings.TrimSuffix(o, "="): "@"} // a value that is no good for any
			if _, err := objective.ParseFlat(flat); err != nil && strings.Contains(err.Error(), "unknown") &&
				strings.Contains(err.Error(), "key") {
				t.Errorf("%s: %v", l, err)
			}
		}
	}
}

// Every flag that takes a text says beside it what completes it.
func TestEveryFlagIsCompleted(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		each := func(f *pflag.Flag) {
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok && f.Value.Type() != "bool" {
				t.Errorf("%s --%s (%s): nothing says what completes it", cmd.CommandPath(), f.Name, f.Value.Type())
			}
		}
		cmd.Flags().VisitAll(each)
		cmd.PersistentFlags().VisitAll(each)
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot(&console.Console{}))
}

// So is every argument: without a completion of its own a command offers no files.
func TestEveryArgumentIsCompleted(t *testing.T) {
	takes := regexp.MustCompile(`^\S+ (\[[A-Za-z]|[A-Z])`)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if takes.MatchString(cmd.Use) != (cmd.ValidArgsFunction != nil) {
			t.Errorf("%q takes arguments: %v; something says what completes them: %v", cmd.Use,
				takes.MatchString(cmd.Use), cmd.ValidArgsFunction != nil)
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	for _, g := range commandGroups { // before newRoot says that the others complete nothing
		for _, c := range g.commands {
			visit(c(&console.Console{}))
		}
	}
}
