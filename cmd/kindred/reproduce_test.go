package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

func TestReproduceList(t *testing.T) {
	code, out, errOut := runArgs(t, "reproduce", "list", "--json")
	var listed []struct {
		Name, Title, Settings string
		Seeds                 int
	}
	if err := json.Unmarshal([]byte(out), &listed); code != exitOK || err != nil || len(listed) < 11 {
		t.Fatalf("status %d, %v, %s", code, err, errOut)
	}
	for _, l := range listed {
		if l.Seeds < 3 || !strings.Contains(l.Title, ", on ") {
			t.Errorf("%+v: a usual run must have enough seeds for a verdict, and the title name its data", l)
		}
	}
	if listed[0].Name != "mnist" || listed[0].Seeds != 8 {
		t.Errorf("%+v", listed[0])
	}
	settings := map[string]string{}
	for _, l := range listed {
		settings[l.Name] = l.Settings
	}
	for name, want := range map[string]string{"mnist": "swept", "cub": "swept features",
		"trimmed": "those of omniglot small", "inshop": "to be swept small", "copies": "not swept"} {
		if settings[name] != want {
			t.Errorf("the settings of %s: %q, want %q", name, settings[name], want)
		}
	}
}

func TestReproduceUsage(t *testing.T) {
	dir := t.TempDir()
	for says, args := range map[string][]string{
		"--seeds 0: want at least 1":          {"reproduce", "mnist", "--seeds", "0"},
		"unknown experiment":                  {"reproduce", "none"},
		"no scale":                            {"reproduce", "cub", "--scale", "huge"},
		"has no ranges":                       {"reproduce", "tune", "copies"},
		"the settings of omniglot":            {"reproduce", "tune", "omniglot-epochs"},
		"cub features starts from":            {"reproduce", "tune", "cub", "--data-dir", dir},
		"defaults-grocery-class full starts":  {"reproduce", "defaults", "--data-dir", dir},
		"--data and --features apply to one":  {"reproduce", "defaults", "--data", dir},
		"recipes-grocery-product full starts": {"reproduce", "recipes", "--data-dir", dir},
		"--minutes applies only to":           {"reproduce", "mnist", "--minutes", "2"},
		"--peer applies only to":              {"reproduce", "defaults", "--peer", "x.py"},
		"--python applies only to":            {"reproduce", "document", "--python", "python3"},
		"--minutes 0: want more than 0":       {"reproduce", "recipes", "--minutes", "0"},
		"--jobs 2: want 1":                    {"reproduce", "recipes-coins", "--jobs", "2"},
		"--queue does not apply":              {"reproduce", "recipes-coins", "--queue", dir},
		"has ranges for its scale":            {"reproduce", "tune", "omniglot", "--scale", "paper"},
		"is not a whole number from 1":        {"reproduce", "tune", "mnist", "--trials", "20000000"},
	} {
		if code, _, errOut := runArgs(t, append(args, "--out", dir)...); code != exitUsage ||
			!strings.Contains(errOut, says) {
			t.Errorf("%v: status %d, %q", args, code, errOut)
		}
	}
}

// TestReproduceDocument writes the page from the results in the repository, and
// says what to do where there are none.
func TestReproduceDocument(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "reproduction.md")
	if code, _, errOut := runArgs(t, "reproduce", "document", "--out", page); code != exitFailure ||
		!strings.Contains(errOut, "--from") {
		t.Errorf("no results: status %d, %q", code, errOut)
	}
	docs := filepath.Join("..", "..", "docs")
	results := filepath.Join(dir, "reproduction", "results")
	if err := os.CopyFS(results, os.DirFS(filepath.Join(docs, "reproduction", "results"))); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(results, "mnist.md") // a page beside the results is written again
	if err := os.WriteFile(own, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := runArgs(t, "reproduce", "document", "--out", page); code != exitOK {
		t.Fatalf("status %d, %q", code, errOut)
	}
	for written, kept := range map[string]string{page: filepath.Join(docs, "reproduction.md"),
		own: filepath.Join(docs, "reproduction", "results", "mnist.md")} {
		got, err := os.ReadFile(written)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(kept)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s differs from %s (%v)", written, kept, err)
		}
	}
	if code, _, errOut := runArgs(t, "reproduce", "document", "--out", page, "--from", dir); code != exitFailure ||
		!strings.Contains(errOut, "results.json") {
		t.Errorf("no experiment: status %d, %q", code, errOut)
	}
}

// TestReproduceDefaults runs the rows whose data sets are there, which is one at most of a
// Debian package: of the others it says why they are left out.
func TestReproduceDefaults(t *testing.T) {
	dir := t.TempDir()
	code, out, errOut := runArgs(t, "reproduce", "defaults", "--scale", "quick", "--seeds", "1", "--data-dir", dir,
		"--set", "network.pretrained=none.onnx", "--set", "sample.batches=1", "--out", filepath.Join(dir, "out"))
	_, installed := os.Stat(filepath.Join(data.DebianHome, "fashion-mnist"))
	switch {
	case installed == nil && (code != exitOK || !strings.Contains(out, "clothes by class") ||
		!strings.Contains(out, "not run")):
		t.Errorf("status %d, %s", code, out)
	case installed != nil && (code != exitFailure || !strings.Contains(errOut, "none of the data sets was found")):
		t.Errorf("status %d, %s", code, errOut)
	}
	for _, row := range []string{"coins", "omniglot", "birds-2"} {
		if !strings.Contains(errOut, "defaults-"+row+" is left out: ") {
			t.Errorf("nothing is said of %s:\n%s", row, errOut)
		}
	}
}

// TestWithSeeds replaces the number of seeds of a command line, however it is given.
func TestWithSeeds(t *testing.T) {
	for _, line := range []string{"k reproduce mnist --seeds 1 --out x", "k reproduce mnist --out x",
		"k reproduce --seeds=1 mnist --out x"} {
		if got := strings.Join(withSeeds(strings.Fields(line), 8), " "); got != "k reproduce mnist --out x --seeds 8" {
			t.Errorf("%s: %s", line, got)
		}
	}
}
