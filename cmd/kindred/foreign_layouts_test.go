package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runGenerator runs a generator of inputs that users of other programs have reported, and returns the folder it filled.
func runGenerator(t *testing.T, script string) string {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "cases", script))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Skip("no generator: ", err)
	}
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import numpy, PIL").Run() != nil {
			continue
		}
		dir := filepath.Join(t.TempDir(), "made")
		made := exec.Command(python, script, dir)
		made.Env = append(os.Environ(), "PYTHONHASHSEED=0") // what it draws goes by hashes of texts
		if out, err := made.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return dir
	}
	t.Skip("python3 with numpy and Pillow is needed")
	return ""
}

// TestFoldersOfOthers: what data info finds in folders as they lie on other people's disks. TestStrangeFolders has
// such folders where there is no Python.
func TestFoldersOfOthers(t *testing.T) {
	dir := runGenerator(t, "folders.py")
	type found struct {
		Samples int
		LeftOut []struct{ Count int } `json:"left_out"`
		Labels  []struct {
			Classes []struct {
				Name  string
				Count int
			}
		}
		Images struct {
			Unreadable []any
			Duplicates []any
		}
	}
	for name, want := range map[string]struct {
		samples, left  int
		classes        string
		repeats, wrong int // pictures that occur more than once, and that cannot be read
	}{
		"syno":                {24, 48, "a b c", 0, 0},
		"nas":                 {16, 62, "a b", 0, 0},
		"empty":               {13, 1, "a b d", 0, 0},
		"linked":              {12, 0, "abnormal normal", 0, 0},
		"same":                {12, 1, "a b", 0, 0},
		"twice":               {12, 1, "animals dogs", 0, 0},
		"loop":                {13, 3, "k store/a store/b", 0, 0},
		"art":                 {12, 0, "black grey white", 0, 0},
		"onefolder2":          {3, 1, "data", 0, 0},
		"box":                 {4, 0, "k l", 1, 0},
		"copies":              {10, 0, "a b", 1, 0},
		"names":               {60, 0, " x #N-A - 01 1 1.0 1e3 NA None True X inf nan null x", 0, 0},
		"man/na.csv":          {12, 0, "NA nan", 0, 0},
		"man/zeros.csv":       {12, 0, "007 7", 0, 0},
		"man/emptylabel.csv":  {9, 3, "a b", 0, 0},
		"man/missing.csv":     {13, 0, "a b", 0, 1},
		"man/bom.csv":         {12, 0, "a b", 0, 0},
		"man/caps.csv":        {12, 0, "a b", 0, 0},
		"man/tab.csv":         {12, 0, "a b", 0, 0},
		"man/unnamed.csv":     {12, 0, "a b", 0, 0},
		"man/unnamed0.csv":    {12, 0, "a b", 0, 0},
		"man/spaces.csv":      {12, 0, "a b", 0, 0},
		"man/quoted.csv":      {12, 0, "a b", 0, 0},
		"man/pandasbool.csv":  {12, 0, "a b", 0, 0},
		"man/pandasfloat.csv": {12, 0, "a b", 0, 0},
		"man/isquery.csv":     {12, 0, "a b", 0, 0},
		"man/floatlabel.csv":  {12, 0, "0.0 1.0", 0, 0},
	} {
		var got found
		kindredJSON(t, &got, "data", "info", filepath.Join(dir, filepath.FromSlash(name)))
		left := 0
		for _, l := range got.LeftOut {
			left += l.Count
		}
		var classes []string
		for _, c := range got.Labels[0].Classes {
			classes = append(classes, c.Name)
		}
		slices.Sort(classes)
		wanted := strings.Fields(want.classes)
		if name == "names" {
			wanted = append(wanted[1:], " x")
		}
		slices.Sort(wanted)
		if got.Samples != want.samples || left != want.left || !slices.Equal(classes, wanted) ||
			len(got.Images.Duplicates) != want.repeats || len(got.Images.Unreadable) != want.wrong {
			t.Errorf("%s: %d samples of %q, %d left out, %d repeats, %d unreadable", name, got.Samples, classes, left,
				len(got.Images.Duplicates), len(got.Images.Unreadable))
		}
	}
	checkRefusedLists(t, dir)
}

// checkRefusedLists: those that cannot be read name the way out.
func checkRefusedLists(t *testing.T, dir string) {
	t.Helper()
	for name, want := range map[string]string{
		"man/hf.csv":     "rename file_name to path",
		"man/fastai.csv": "rename filenames to path; rename cats to label",
		"man/nanbox.csv": "not a coordinate",
		"man/outbox.csv": "not a coordinate",
	} {
		code, _, stderr := runArgs(t, "data", "info", filepath.Join(dir, filepath.FromSlash(name)))
		if code != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", name, code, stderr)
		}
	}
}

// TestTablesOfOthers: labels that are missing, and classes of one item.
func TestTablesOfOthers(t *testing.T) {
	dir := runGenerator(t, "lone.py")
	var scored struct {
		Metrics          map[string]float64
		Queries, Classes int
	}
	table := filepath.Join(dir, "nolabel.csv")
	kindredJSON(t, &scored, "eval", "--embeddings", table)
	if scored.Queries != 30 || scored.Classes != 5 || scored.Metrics["recall@1"] != 1 {
		t.Errorf("%+v", scored)
	}
	if code, _, stderr := runArgs(t, "eval", "--embeddings", table, "--strict"); code != exitFailure ||
		!strings.Contains(stderr, "10 rows are without a label") {
		t.Errorf("status %d, %s", code, stderr)
	}
	files := []string{"sing.csv", "single.csv"}
	for s := range 12 {
		files = append(files, fmt.Sprintf("q%d.npy", s))
	}
	for _, name := range files {
		out := t.TempDir()
		if code, _, stderr := runArgs(t, "clean", filepath.Join(dir, name), "--out", out); code != exitOK {
			t.Fatalf("%s: %s", name, stderr)
		}
		text, err := os.ReadFile(filepath.Join(out, "suspects.csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(rows) != 1 {
			t.Errorf("%s: suspects %q, %v", name, rows, err)
		}
	}
}
