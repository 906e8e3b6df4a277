package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is read again is told once: what the file holds now, or why it cannot be read, and
// not again before that is another reason. Without a log nothing is.
func TestWatchedTells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	change := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	for _, strict := range []bool{false, true} {
		for _, log := range []*slog.Logger{nil, slog.New(slog.NewTextHandler(&said, nil))} {
			change("ok")
			w := &watched[string]{paths: []string{path}, strict: strict, log: log, load: func() (string, error) {
				text, err := os.ReadFile(path)
				if bad, ok := strings.CutPrefix(string(text), "bad "); ok {
					return "part of " + bad, errors.New(bad)
				}
				return string(text), err
			}}
			if err := w.open(); err != nil {
				t.Fatal(err)
			}
			held := "what it was before holds"
			if strict {
				held = "only what can be read of it holds"
			}
			for _, c := range []struct{ text, value, told string }{
				{"ok", "ok", ""}, {"fine.", "fine.", "read again"}, {"fine.", "fine.", ""},
				{"bad bread", "fine.", held}, {"bad bread", "fine.", ""}, {"bad bread", "fine.", ""},
				{"bad butter", "fine.", "error=butter"}, {"ok", "ok", "read again"}, {"ok", "ok", ""},
			} {
				if now, err := os.ReadFile(path); err != nil || string(now) != c.text {
					change(c.text)
				}
				said.Reset()
				w.looked = time.Time{}
				want := c.value
				if bad, ok := strings.CutPrefix(c.text, "bad "); ok && strict {
					want = "part of " + bad
				}
				if got := w.get(); got != want {
					t.Errorf("strict %v, %q: %q, want %q", strict, c.text, got, want)
				}
				told := c.told
				if log == nil {
					told = ""
				}
				if text := said.String(); !strings.Contains(text, told) || told == "" && text != "" {
					t.Errorf("strict %v, %q: said %q, want %q", strict, c.text, text, told)
				}
			}
		}
	}
}

// A look holds for a second.
func TestWatchedLooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &watched[string]{paths: []string{path}, load: func() (string, error) {
		text, err := os.ReadFile(path)
		return string(text), err
	}}
	if err := w.open(); err != nil || w.value != "a" {
		t.Fatal(w.value, err)
	}
	if err := os.WriteFile(path, []byte("longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.looked = time.Now().Add(time.Hour)
	if got := w.get(); got != "a" {
		t.Errorf("looked at again at once: %q", got)
	}
	w.looked = time.Now().Add(-lookAgain)
	if got := w.get(); got != "longer" {
		t.Errorf("not looked at after %v: %q", lookAgain, got)
	}
	// Of the same length, at another time.
	if err := os.WriteFile(path, []byte("larger"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	w.looked = time.Time{}
	if got := w.get(); got != "larger" {
		t.Errorf("a new time is not noticed: %q", got)
	}
}
