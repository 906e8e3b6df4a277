package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostileNames are names of classes that must nowhere be more than text.
var hostileNames = []string{
	"<script>alert(1)</script>",
	"a|b",
	"two\nlines",
	"\x1b[31mred",
	"\u202efdp.exe",
	strings.Repeat("long", 125),
	"../../x",
	"-rf",
	`"quoted", 'x' & \`,
	"[link](javascript:alert(1)) `code`",
	"\u009b2J\u2028",
}

// makeHostileRun is the folder of a run whose classes have the names.
func makeHostileRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "<b>run|\x1b[1m")
	writeRun(t, dir, "easy", 1, 2)
	var labels, numbers strings.Builder
	w := csv.NewWriter(&labels)
	rows := [][]string{{"label"}}
	numbers.WriteString("embedding_0,embedding_1\n")
	for i := range 4 * len(hostileNames) {
		c := i % len(hostileNames)
		rows = append(rows, []string{hostileNames[c]})
		fmt.Fprintf(&numbers, "%d,%d\n", 10*c+i%3, i*i%7)
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(dir, "labels.csv"), []byte(labels.String()))
	writeBytes(t, filepath.Join(dir, "e.csv"), []byte(numbers.String()))
	return dir
}

// checkTerminal fails if text holds what a terminal would act on.
func checkTerminal(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: invalid UTF-8", what)
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%s: %U in %.300q", what, r, text)
			return
		}
	}
	if strings.Contains(text, "two\nlines") {
		t.Errorf("%s: a name breaks the line", what)
	}
}

// cells splits a row of a Markdown table.
var cells = regexp.MustCompile(`[^\\]\|`)

// checkMarkdown fails if a name opened a tag, a link, or a cell.
func checkMarkdown(t *testing.T, what, text string) {
	t.Helper()
	checkTerminal(t, what, text)
	if strings.Contains(text, "<") || strings.Contains(text, "[link]") || !strings.Contains(text, "&lt;script&gt;") {
		t.Errorf("%s: a tag or a link, or no class at all", what)
	}
	width := 0
	for line := range strings.Lines(text) {
		switch n := len(cells.FindAllString(line, -1)); {
		case !strings.HasPrefix(line, "|"):
			width = 0
		case width == 0:
			width = n
		case n != width:
			t.Errorf("%s: %d cells in a table of %d: %q", what, n, width, line)
		}
	}
}

func TestHostileNames(t *testing.T) {
	dir := makeHostileRun(t)
	out := filepath.Join(t.TempDir(), "out")
	e, y := filepath.Join(dir, "e.csv"), filepath.Join(dir, "labels.csv")
	for name, args := range map[string][]string{
		"eval": {"eval", "--embeddings", e, "--labels", y, "--metrics", "recall@1,nmi", "--per-class",
			"--worst", "30", "--bootstrap", "5", "--out", filepath.Join(out, "eval")},
		"eval markdown": {"eval", "--embeddings", e, "--labels", y, "--metrics", "recall@1", "--per-class", "--format",
			"markdown"},
		"diagnose":     {"diagnose", e, "--labels", y, "--out", filepath.Join(out, "diagnose")},
		"discover":     {"discover", e, "--labels", y, "--level", "1", "--out", filepath.Join(out, "discover")},
		"clean":        {"clean", e, "--labels", y, "--least", "0", "--out", filepath.Join(out, "clean")},
		"diagnose two": {"diagnose", e, dir, "--labels", y, "--out", filepath.Join(out, "two")},
		"map": {"map", "--embeddings", e, "--labels", y, "--iterations", "20", "--out",
			filepath.Join(out, "map")},
		"neighbours": {"neighbours", "--embeddings", e, "--labels", y, "--out", filepath.Join(out, "neighbours")},
		"report":     {"report", dir, "--out", filepath.Join(out, "report")},
		"mistake":    {"eval", "--embeddings", filepath.Join(dir, "none\x1b[2J\u202e.csv")},
		"usage":      {"eval", "--embeddings", e, "--format", "\x1b[2J"},
	} {
		code, stdout, stderr := runArgs(t, args...)
		switch {
		case name == "mistake" && code != exitFailure, name == "usage" && code != exitUsage:
			t.Errorf("%s: status %d", name, code)
		case name == "diagnose two":
			if code != exitFailure { // the run's own embeddings are fewer than the labels
				t.Errorf("%s: status %d: %s", name, code, stderr)
			}
		case name != "mistake" && name != "usage" && name != "report" && code != exitOK:
			t.Errorf("%s: status %d: %s", name, code, stderr)
		}
		checkTerminal(t, name+", standard output", stdout)
		checkTerminal(t, name+", standard error", stderr)
		if name == "eval markdown" {
			checkMarkdown(t, name, stdout)
		}
	}
	seen := map[string]int{}
	err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		ext := filepath.Ext(path)
		seen[ext]++
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch text := string(raw); ext {
		case ".html", ".svg":
			if strings.Contains(text, "<script>alert") || strings.Contains(text, "\x1b") ||
				strings.Contains(text, "\u202e") || !utf8.ValidString(text) {
				t.Errorf("%s: a name is more than text", path)
			}
		case ".md":
			checkMarkdown(t, path, text)
		case ".csv":
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil || len(rows) < 2 && filepath.Base(path) != "overlaps.csv" { // no classes may overlap
				t.Errorf("%s: %d rows, %v", path, len(rows), err)
			}
		case ".json":
			if !json.Valid(raw) {
				t.Errorf("%s: no JSON", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{".html", ".svg", ".md", ".csv", ".json"} {
		if seen[ext] == 0 {
			t.Errorf("no %s was written: %v", ext, seen)
		}
	}
}

// JSON and CSV keep the names as they are.
func TestHostileNamesAreExactWhereTheyMayBe(t *testing.T) {
	dir := makeHostileRun(t)
	e, y := filepath.Join(dir, "e.csv"), filepath.Join(dir, "labels.csv")
	code, stdout, stderr := runArgs(t, "diagnose", e, "--labels", y, "--json")
	if code != exitOK {
		t.Fatal(stderr)
	}
	var res struct {
		Classes []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, c := range res.Classes {
		got[c.Name] = true
	}
	for _, name := range hostileNames {
		if !got[name] {
			t.Errorf("JSON lacks %q", name)
		}
	}
	out := t.TempDir()
	if code, _, stderr := runArgs(t, "map", "--embeddings", e, "--labels", y, "--method", "pca", "--out",
		out); code != exitOK {
		t.Fatal(stderr)
	}
	f, err := os.Open(filepath.Join(out, "map.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for k, r := range rows[1:] {
		if want := hostileNames[k%len(hostileNames)]; r[2] != want {
			t.Fatalf("row %d of map.csv is of class %q, want %q", k, r[2], want)
		}
	}
}

// fullDisk is a disk without room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A result that cannot be written is a failure, whichever command it is of.
func TestFullStandardOutputIsAFailure(t *testing.T) {
	dir := makeHostileRun(t)
	e, y, out := filepath.Join(dir, "e.csv"), filepath.Join(dir, "labels.csv"), t.TempDir()
	for _, args := range [][]string{
		{"eval", "--embeddings", e, "--labels", y, "--metrics", "recall@1"},
		{"eval", "--embeddings", e, "--labels", y, "--metrics", "recall@1", "--format", "csv"},
		{"diagnose", e, "--labels", y},
		{"loss", "--embeddings", e, "--labels", y},
		{"map", "--embeddings", e, "--labels", y, "--method", "pca", "--out", out, "--force"},
		{"neighbours", "--embeddings", e, "--labels", y, "--out", out, "--force"},
		{"reproduce", "list"},
		{"data", "list", "--data-dir", out},
		{"theory", "field", "--loss", "first", "--gamma", "0.5", "--p", "0", "--out", out, "--force"},
		{"train", "--print-config"},
		{"--version"},
		{"--help"},
		{"eval", "--help"},
	} {
		for _, args := range [][]string{args, append([]string{"--json"}, args...)} {
			var errOut strings.Builder
			if code := execute(t.Context(), args, fullDisk{}, &errOut); code != exitFailure ||
				!strings.Contains(errOut.String(), "no space left") {
				t.Errorf("%v: status %d, %q", args, code, errOut.String())
			}
		}
	}
}
