package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/run"
)

func TestMessage(t *testing.T) {
	_, wrong := run.Parse("x.yaml", []byte("train:\n  epochs: many\n"), "train.lr=much")
	if wrong == nil || strings.Contains(wrong.Error(), "--set") {
		t.Fatal(wrong)
	}
	said := Message(fmt.Errorf("plan: %w", wrong))
	if !strings.HasPrefix(said, "plan: x.yaml:2: train.epochs: ") ||
		!strings.Contains(said, "\n--set train.lr=much: train.lr: ") {
		t.Errorf("%q", said)
	}
	_, err := new(run.DataConfig).Open(context.Background(), "")
	if want := "no data set: give --data, or data.name in the configuration"; err == nil || Message(err) != want {
		t.Errorf("%q", Message(err))
	}
	if err := errors.New("run.Options.Dir"); Message(err) != "run.Options.Dir" {
		t.Error(Message(err))
	}
	if err := option.Errorf("%s", option.Option("none.such")); Message(err) != "none.such" {
		t.Error(Message(err))
	}
}

// TestFlagError: a flag of numbers says what it takes, and other mistakes keep their words.
func TestFlagError(t *testing.T) {
	for _, c := range [][2]string{
		{"--minutes=5min", `--minutes "5min": want a number`},
		{"--seed=1.5", `--seed "1.5": want a whole number`},
		{"--seed=-1", `--seed "-1": want a whole number from 0 on`},
		{"--seed=99999999999999999999",
			`--seed "99999999999999999999": want a whole number from 0 on that is not so large`},
		{"--dims=8,x", `--dims "8,x": want numbers with commas between them`},
		{"--memory=much", `invalid argument "much" for "--memory" flag: `},
		{"--none", "unknown flag: --none"},
	} {
		fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
		AddGlobals(fs, new(bool), new(uint64))
		fs.Float64("minutes", 0, "")
		fs.IntSlice("dims", nil, "")
		var usage UsageError
		err := FlagError(fs.Parse([]string{c[0]}))
		if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %s", c[0], err, c[1])
		}
	}
}

// TestMessageOfSettings: settings that do not apply are named as flags.
func TestMessageOfSettings(t *testing.T) {
	err := UsageError{&option.InapplicableError{Setting: "scratch", To: "an index", Reason: "the index ranks"}}
	if want := "--scratch does not apply to an index: the index ranks"; Message(err) != want {
		t.Errorf("%q, want %q", Message(err), want)
	}
}

// TestFlagsOfOptions: every option that the library's errors name has a flag and a command that shows it, and the table
// has no others.
func TestFlagsOfOptions(t *testing.T) {
	pattern := regexp.MustCompile(`option\.Option(?:\(| = )"([^"]+)"`)
	named := map[string]bool{option.Override: true}
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
			named[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "kindred", "flag_names_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range named {
		if optionFlags[name] == "" {
			t.Errorf("no flag for %s", name)
		}
		if !strings.Contains(string(shown), fmt.Sprintf("\tat(%q, ", name)) {
			t.Errorf("no command shows the flag for %s", name)
		}
	}
	for name := range optionFlags {
		if !named[name] {
			t.Errorf("%s is named nowhere", name)
		}
	}
}
