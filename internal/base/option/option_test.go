package option

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func flag(option string) string {
	switch option {
	case "run.Options.Resume":
		return "--resume"
	case "run.Options.Force":
		return "--force"
	case Override:
		return "--set"
	}
	return option
}

// TestText: the library's message has the library's names, a command's has its flags,
// however deep the error is wrapped.
func TestText(t *testing.T) {
	resume, force, other := Option("run.Options.Resume"), Option("run.Options.Force"), Option("run.Options.Dir")
	taken := Errorf("%s holds a run: %s or %s", "a%b", resume.WithValue("a b"), force)
	key := setting{"train.lr=x: train.lr: no number"}
	for _, c := range []struct {
		err           error
		library, flag string
	}{
		{errors.New("run.Options.Force stands here by chance"), "run.Options.Force stands here by chance",
			"run.Options.Force stands here by chance"},
		{taken, "a%b holds a run: run.Options.Resume or run.Options.Force", "a%b holds a run: --resume a b or --force"},
		{Errorf("before: %w, after", taken),
			"before: a%b holds a run: run.Options.Resume or run.Options.Force, after",
			"before: a%b holds a run: --resume a b or --force, after"},
		{Errorf("%w; %s", Errorf("%w, %s", fs.ErrNotExist, force), other),
			"file does not exist, run.Options.Force; run.Options.Dir", "file does not exist, --force; run.Options.Dir"},
		{Errorf("%v; %s", Errorf("no %s", force), resume.WithValue("d")), "no run.Options.Force; run.Options.Resume",
			"no --force; --resume d"},
		{errors.Join(taken, key, taken), "a%b holds a run: run.Options.Resume or run.Options.Force\n" +
			"override train.lr=x: train.lr: no number\na%b holds a run: run.Options.Resume or run.Options.Force",
			"a%b holds a run: --resume a b or --force\n--set train.lr=x: train.lr: no number\n" +
				"a%b holds a run: --resume a b or --force"},
		{Errorf("%w and %w", Errorf("%s", force), Errorf("%s", force)), "run.Options.Force and run.Options.Force",
			"--force and --force"},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", Errorf("%s", force))), "a: b: run.Options.Force", "a: b: --force"},
		{fmt.Errorf("a: %w", errors.Join(Errorf("%s", force), fs.ErrClosed)),
			"a: run.Options.Force\nfile already closed", "a: --force\nfile already closed"},
		// Package fmt does not keep where the wrapped message is.
		{fmt.Errorf("%w, after", Errorf("%s", force)), "run.Options.Force, after", "run.Options.Force, after"},
		{fmt.Errorf("%w and %w", Errorf("%s", force), Errorf("%s", force)), "run.Options.Force and run.Options.Force",
			"run.Options.Force and run.Options.Force"},
		{hidden{taken}, "something else", "something else"},
		{hidden{nil}, "something else", "something else"},
	} {
		if got := c.err.Error(); got != c.library {
			t.Errorf("library: %q\nwant     %q", got, c.library)
		}
		if got := Text(c.err, flag); got != c.flag {
			t.Errorf("command: %q\nwant     %q", got, c.flag)
		}
	}
	if err := Errorf("%w: %s", context.Canceled, force); !errors.Is(err, context.Canceled) {
		t.Error("the wrapped error is lost")
	}
	if err := Errorf("%w: %w", fs.ErrClosed, context.Canceled); !errors.Is(err, context.Canceled) {
		t.Error("the second of the wrapped errors is lost")
	}
	if err := Errorf("%v: %s", context.Canceled, force); errors.Is(err, context.Canceled) {
		t.Error("what was not wrapped is")
	}
}

// hidden wraps an error and does not repeat its message.
type hidden struct{ error }

func (hidden) Error() string   { return "something else" }
func (h hidden) Unwrap() error { return h.error }

// setting is an error with an override, as objective.KeyError is one.
type setting struct{ text string }

func (s setting) Error() string { return s.Named(func(option string) string { return option }) }

func (s setting) Named(name func(option string) string) string { return name(Override) + " " + s.text }
