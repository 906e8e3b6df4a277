package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a command wrote stays until it is asked to replace it.
func TestResultsAreNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	writeRun(t, run, "easy", 1, 2)
	e, l := filepath.Join(run, "embeddings.npy"), filepath.Join(run, "labels.csv")
	for page, args := range map[string][]string{
		"report.html":     {"report", run},
		"map.html":        {"map", "--embeddings", e, "--labels", l, "--method", "pca"},
		"neighbours.html": {"neighbours", "--embeddings", e, "--labels", l},
		"diagnosis.html":  {"diagnose", run},
		"kinds.csv":       {"discover", e, "--labels", l},
		"suspects.csv":    {"clean", e, "--labels", l},
		"eval.json":       {"eval", "--embeddings", e, "--labels", l, "--metrics", "recall@1"},
		"index.html":      {"theory", "field", "--loss", "first", "--gamma", "0.5", "--p", "0"},
	} {
		out := filepath.Join(dir, page)
		if err := os.Mkdir(out, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(out, page)
		if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--out", out)
		code, _, stderr := runArgs(t, args...)
		b, _ := os.ReadFile(path)
		if code != exitFailure || !strings.Contains(stderr, "--force") || string(b) != "mine" {
			t.Errorf("%s: status %d, %q", args, code, stderr)
		}
		code, _, stderr = runArgs(t, append(args, "--force")...)
		if b, _ := os.ReadFile(path); code != exitOK || string(b) == "mine" {
			t.Errorf("%s --force: status %d, %q", args, code, stderr)
		}
	}
}

// Without --out the default folder gets a number if it is taken.
func TestDefaultFolderIsFree(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRun(t, "run", "easy", 1, 2)
	for _, want := range []string{"report", "report-2", "report-3"} {
		if code, _, stderr := runArgs(t, "report", "run"); code != exitOK {
			t.Fatal(stderr)
		}
		if _, err := os.Stat(filepath.Join(want, "report.html")); err != nil {
			t.Error(err)
		}
	}
	if code, _, stderr := runArgs(t, "report", "run", "--force"); code != exitOK {
		t.Fatal(stderr)
	}
	if _, err := os.Stat("report-4"); err == nil {
		t.Error("--force took another folder")
	}
}

// A command that was killed leaves a temporary file, which the next one removes.
func TestResultsOfKilledCommands(t *testing.T) {
	dir := t.TempDir()
	run, out := filepath.Join(dir, "run"), filepath.Join(dir, "kinds")
	writeRun(t, run, "easy", 1, 2)
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(out, ".kindred-0123456789abcdef.tmp")
	if err := os.WriteFile(left, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runArgs(t, "discover", filepath.Join(run, "embeddings.npy"), "--labels",
		filepath.Join(run, "labels.csv"), "--out", out)
	if code != exitOK {
		t.Fatal(stderr)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("it is still there")
	}
}
