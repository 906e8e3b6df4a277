package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
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

// Without --out a report of one run is in its folder, and the same command replaces it; a report of several
// is in the folder report, which another report does not replace.
func TestDefaultFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRun(t, "run", "easy", 1, 2)
	writeRun(t, "other", "easy", 2, 2)
	page := filepath.Join("run", "report", "report.html")
	for i := range 2 {
		code, _, stderr := runArgs(t, "report", "run")
		if _, err := os.Stat(page); err != nil || code != exitOK ||
			strings.Contains(stderr, "replacing results of the same command: "+page) != (i == 1) {
			t.Errorf("status %d, %s, %v", code, stderr, err)
		}
	}
	if code, _, stderr := runArgs(t, "report", "run", "other"); code != exitOK {
		t.Fatal(stderr)
	}
	code, _, stderr := runArgs(t, "report", "other", "run")
	if code != exitFailure || !strings.Contains(stderr, filepath.Join("report", "report.html")+" exists already") ||
		!strings.Contains(stderr, "--force") || !strings.Contains(stderr, "--out") {
		t.Errorf("status %d, %s", code, stderr)
	}
	if code, _, stderr := runArgs(t, "report", "nothing"); code == exitOK {
		t.Error(stderr)
	} else if _, err := os.Stat("nothing"); err == nil {
		t.Error("a folder was made for a run that is not there")
	}
}

// TestFailuresLeaveNoFolder: folders that a command makes are gone when it fails, and those of others stay.
func TestFailuresLeaveNoFolder(t *testing.T) {
	run, photos := trainRun(t)
	t.Chdir(t.TempDir())
	writeBytes(t, filepath.Join("E.csv"), []byte("path,label,embedding_0\na,1,2\nb,1,NaN\nc,2,4\n"))
	if err := os.Mkdir("mine", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"embed " + run + " " + filepath.Join(photos, "none") + " --out new/deep/E.npy",
		"eval --embeddings E.csv --out new/deep", "diagnose --embeddings E.csv --out new/deep",
		"map --embeddings E.csv --out new/deep --force", "neighbours --embeddings E.csv --out mine/deep",
		"search " + filepath.Join(photos, "none.png") + " --run " + run + " --in " + photos + " --out new",
	} {
		if code, _, stderr := runArgs(t, strings.Fields(line)...); code == exitOK {
			t.Errorf("%s: %s", line, stderr)
		}
		left, err := filepath.Glob("*/*")
		if _, e := os.Stat("new"); e == nil || err != nil || len(left) > 0 {
			t.Errorf("%s left a folder: %q, %v, %v", line, left, e, err)
		}
	}
	if _, err := os.Stat("mine"); err != nil {
		t.Error(err)
	}
}

// TestFilesAreNotOverwritten: files that a command writes by their names follow the rule of the folders.
func TestFilesAreNotOverwritten(t *testing.T) {
	run, photos := trainRun(t)
	out := t.TempDir()
	in := func(name string) string { return filepath.Join(out, name) }
	for path, c := range map[string]struct{ args, other []string }{
		in("E.npy"):           {[]string{"embed", run, photos, "--out", in("E.npy")}, []string{"--keep=false"}},
		in("m/M.safetensors"): {[]string{"export", run, "--out", in("m/M.safetensors")}, []string{"--seed", "3"}},
		in("run.yaml"): {[]string{"init", photos, "--set", "network.name=mlp", "--out", in("run.yaml")},
			[]string{"--seed", "3"}},
		in("q.csv"): {[]string{"data", "info", photos, "--quality-table", in("q.csv")}, []string{"--full"}},
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, again := range []string{"", "replacing results of the same command: " + path} {
			if code, _, stderr := runArgs(t, c.args...); code != exitOK || !strings.Contains(stderr, again) {
				t.Errorf("%v: status %d, %s", c.args, code, stderr)
			}
		}
		refused := func(why string, args []string) {
			want, _ := os.ReadFile(path)
			code, _, stderr := runArgs(t, args...)
			got, _ := os.ReadFile(path)
			if code != exitFailure || !strings.Contains(stderr, path+" exists already") ||
				string(got) != string(want) {
				t.Errorf("%s: %v: status %d, %s", why, args, code, stderr)
			}
		}
		refused("another command", append(c.args, c.other...))
		writeBytes(t, path, []byte("mine"))
		refused("a file that was changed", c.args)
		if code, _, stderr := runArgs(t, append(c.args, "--force")...); code != exitOK {
			t.Errorf("%v --force: status %d, %s", c.args, code, stderr)
		}
	}
	// A list on standard input may be another one.
	list := in("L.parquet")
	photo, err := filepath.Glob(filepath.Join(photos, "*", "*"))
	if err != nil || len(photo) == 0 {
		t.Fatal(photo, err)
	}
	for i := range 2 {
		cmd := newRoot(&console.Console{Out: io.Discard, Err: io.Discard, Raw: io.Discard})
		cmd.SetIn(strings.NewReader(photo[0] + "\n"))
		cmd.SetArgs([]string{"embed", run, "-", "--out", list})
		if err := cmd.Execute(); (err != nil) != (i == 1) || i == 1 && !strings.Contains(err.Error(), "--force") {
			t.Errorf("standard input, time %d: %v", i+1, err)
		}
	}
}

// TestEveryResultIsClaimed: the first file of a folder of results that a command would write over is refused, whichever
// it is.
func TestEveryResultIsClaimed(t *testing.T) {
	dir := t.TempDir()
	e := filepath.Join(dir, "E.csv")
	var rows strings.Builder
	rows.WriteString("path,label,embedding_0,embedding_1\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "p%d,%d,%d,%d\n", i, i%4, i%4*10+i%3, i%7)
	}
	writeBytes(t, e, []byte(rows.String()))
	for _, args := range [][]string{
		{"eval", "--embeddings", e, "--per-class"}, {"diagnose", e}, {"diagnose", e, e}, {"clean", e}, {"discover", e},
		{"map", "--embeddings", e, "--method", "pca"}, {"neighbours", "--embeddings", e},
	} {
		out := filepath.Join(t.TempDir(), "out")
		args = append(args, "--out", out)
		mustRun(t, args...)
		made, err := os.ReadDir(out)
		if err != nil || len(made) < 3 {
			t.Fatal(made, err)
		}
		for _, f := range made {
			path := filepath.Join(out, f.Name())
			if f.Name() == results.NoteName {
				continue
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			writeBytes(t, path, []byte("mine"))
			code, _, stderr := runArgs(t, args...)
			got, err := os.ReadFile(path)
			if code != exitFailure || !strings.Contains(stderr, path) || string(got) != "mine" {
				t.Errorf("%v over %s: status %d, %s, %v", args, f.Name(), code, stderr, err)
			}
			writeBytes(t, path, before)
		}
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
