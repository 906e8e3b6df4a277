package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli/calibrate"
	"github.com/kindred-ml/kindred/internal/app/cli/decisions"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/matrix"
)

// writeThings writes embeddings of classes from to to, eight photos of each, with labels.
func writeThings(t *testing.T, path string, from, to int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(from), 7))
	x := matrix.New(8*(to-from), 6)
	var labels []string
	for c := from; c < to; c++ {
		centre := rand.New(rand.NewPCG(uint64(c), 8))
		var at [6]float64
		for k := range at {
			at[k] = centre.NormFloat64()
		}
		for range 8 {
			for k := range at {
				x.Row(len(labels))[k] = float32(at[k] + 0.15*rng.NormFloat64())
			}
			labels = append(labels, fmt.Sprintf("thing %d", c))
		}
	}
	table := &embedding.Table{X: x, Columns: []embedding.Column{embedding.NewColumn("label", labels)}}
	if err := embedding.Write(path, table); err != nil {
		t.Fatal(err)
	}
}

func TestCalibrateAndIdentify(t *testing.T) {
	dir := t.TempDir()
	calibration, gallery := filepath.Join(dir, "C.csv"), filepath.Join(dir, "G.csv")
	photos := filepath.Join(dir, "Q.csv")
	writeThings(t, calibration, 0, 60)
	writeThings(t, gallery, 100, 120)
	writeThings(t, photos, 118, 122) // two of the gallery's, and two strangers
	code, stdout, stderr := runArgs(t, "calibrate", calibration, "--fmr", "1e-2,1e-5", "--json")
	if code != exitOK {
		t.Fatal(stderr)
	}
	var made calibrate.Result
	if err := json.Unmarshal([]byte(stdout), &made); err != nil {
		t.Fatal(err)
	}
	if made.Classes != 60 || len(made.Thresholds) != 1 || made.Thresholds[0].TrueMatch < 0.5 ||
		len(made.Refused) != 1 || !strings.Contains(made.Refused[0], "cannot be promised from 60 classes") {
		t.Fatalf("%+v", made)
	}
	if code, _, stderr := runArgs(t, "calibrate", calibration); code == exitOK || !strings.Contains(stderr, "--force") {
		t.Errorf("made again: %s", stderr)
	}
	table := filepath.Join(dir, "decisions.csv")
	code, stdout, stderr = runArgs(t, "identify", "--vector", photos, "--embeddings", gallery, "--calibration",
		made.File, "--coverage", "0.9", "--table", table, "--json")
	if code != exitOK {
		t.Fatal(stderr)
	}
	var got lookup.Decisions
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Queries) != 32 || got.Classes != 20 || got.Items != 160 {
		t.Fatalf("%+v", got)
	}
	right, let := 0, 0
	for i, q := range got.Queries {
		if i < 16 && !q.Unknown && q.Label == fmt.Sprintf("thing %d", 118+i/8) && q.Probability > 0.5 {
			right++
		}
		if i >= 16 && !q.Unknown {
			let++
		}
	}
	if right < 14 || let > 1 {
		t.Errorf("%d of 16 are right, %d of 16 strangers let in", right, let)
	}
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 33 || rows[0][1] != "label" || rows[1][4] != "true" || rows[32][4] != "false" {
		t.Errorf("%v: %v", err, rows)
	}
	for flag, want := range map[string]int{"--by-class": 20, "--by-class=false": 0} {
		code, stdout, stderr := runArgs(t, "identify", "--vector", photos, "--embeddings", gallery, "--calibration",
			made.File, "--coverage", "0.8", flag, "--json")
		var got lookup.Decisions
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK || got.ByClass != want {
			t.Errorf("%s: %d classes by their own items, want %d: %v %s", flag, got.ByClass, want, err, stderr)
		}
	}
	code, _, stderr = runArgs(t, "identify", "--vector", photos, "--embeddings", gallery)
	if code == exitOK || !strings.Contains(stderr, "kindred calibrate") {
		t.Errorf("no calibration: %s", stderr)
	}
	if code, out, stderr := runArgs(t, "calibrate", calibration, "--check", gallery); code != exitOK ||
		!strings.Contains(out, "false matches 0.01") {
		t.Errorf("check: %s %s", out, stderr)
	}
	if code, out, stderr := runArgs(t, "calibrate", calibration, "--trials", "2", "--seen", gallery); code != exitOK ||
		!strings.Contains(out, "2 trials") || !strings.Contains(out, "Platt scaling on seen classes") ||
		!strings.Contains(out, "0.9, by class") || !strings.Contains(out, "debiased") {
		t.Errorf("trials: %s %s", out, stderr)
	}
}

// TestCheckUnlabelled: photos without labels are compared by their distances to other
// classes, with what the calibration was learned from and with nothing else.
func TestCheckUnlabelled(t *testing.T) {
	dir := t.TempDir()
	known, others := filepath.Join(dir, "C.csv"), filepath.Join(dir, "N.csv")
	writeThings(t, known, 0, 60)
	writeThings(t, others, 100, 115)
	table, err := embedding.Read(others)
	if err != nil {
		t.Fatal(err)
	}
	table.Columns = nil
	near := *table
	near.X = matrix.New(table.X.Rows, table.X.Cols)
	for i, v := range table.X.Data {
		near.X.Data[i] = v / 4
	}
	if err := errors.Join(embedding.Write(filepath.Join(dir, "plain.csv"), table),
		embedding.Write(filepath.Join(dir, "near.csv"), &near)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runArgs(t, "calibrate", known); code != exitOK {
		t.Fatal(stderr)
	}
	check := func(what string) (res calibrate.Result, text string) {
		t.Helper()
		code, out, stderr := runArgs(t, "calibrate", known, "--check", filepath.Join(dir, what), "--json")
		if code != exitOK {
			t.Fatal(stderr)
		}
		if err := json.Unmarshal([]byte(out), &res); err != nil || res.Drift == nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, text, _ = runArgs(t, "calibrate", known, "--check", filepath.Join(dir, what))
		return res, text
	}
	if res, text := check("plain.csv"); res.Drift.P < 0.05 || res.Drift.Classes != 10 || res.Drift.Photos != 120 ||
		!strings.Contains(text, "no difference was found") {
		t.Errorf("%+v %s", res.Drift, text)
	}
	if res, text := check("near.csv"); res.Drift.P >= 0.05 || !strings.Contains(text, "calibrate on some of them") {
		t.Errorf("%+v %s", res.Drift, text)
	}
	writeThings(t, known, 0, 59)
	again := []string{"calibrate", known, "--check", filepath.Join(dir, "plain.csv")}
	if code, _, stderr := runArgs(t, again...); code == exitOK || !strings.Contains(stderr, "from another content of") {
		t.Errorf("other photos: %s", stderr)
	}
	named := filepath.Join(dir, "C.calibration.json")
	if code, _, stderr := runArgs(t, append(again, "--out", named)...); code == exitOK ||
		!strings.Contains(stderr, "learned from 480 photos") {
		t.Errorf("other photos, with a named calibration: %s", stderr)
	}
}

// TestIdentifyInIndex: an index that is calibrated on identifies, and one of another
// distance refuses the calibration.
func TestIdentifyInIndex(t *testing.T) {
	dir := t.TempDir()
	items, photos, ix := filepath.Join(dir, "C.csv"), filepath.Join(dir, "Q.csv"), filepath.Join(dir, "ix")
	writeThings(t, items, 0, 40)
	writeThings(t, photos, 38, 39)
	for _, args := range [][]string{{"index", "create", "--embeddings", items, "--out", ix}, {"calibrate", ix}} {
		if code, _, stderr := runArgs(t, args...); code != exitOK {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	if _, err := decide.Load(filepath.Join(ix, decide.FileName)); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := runArgs(t, "identify", "--vector", photos, "--index", ix, "--together", "--fpir", "0.4",
		"--coverage", "0.6")
	if code != exitOK || !strings.Contains(out, "thing 38") || strings.Contains(out, "unknown") {
		t.Errorf("%s %s", out, stderr)
	}
	// How far items of a class lie from each other is kept until items change.
	kept := filepath.Join(ix, decide.MeasuresFileName)
	byClass := func(coverage string, want int) {
		t.Helper()
		code, out, stderr := runArgs(t, "identify", "--vector", photos, "--index", ix, "--coverage", coverage, "--json")
		var got lookup.Decisions
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || got.ByClass != want {
			t.Errorf("%d classes by their own items, want %d: %v %s", got.ByClass, want, err, stderr)
		}
	}
	byClass("0.8", 40)
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	small := regexp.MustCompile(`"thing 7":\[[^]]*\],?`).ReplaceAll(text, nil)
	if err := os.WriteFile(kept, small, 0o666); err != nil || len(small) == len(text) {
		t.Fatal(err, len(small))
	}
	byClass("0.8", 39)
	byClass("0.9", 0) // takes 9 items
	if err := os.WriteFile(kept, text[:len(text)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	byClass("0.8", 40)
	if code, _, stderr := runArgs(t, "index", "remove", ix, "--filter", `label = "thing 7"`); code != exitOK {
		t.Fatal(stderr)
	}
	byClass("0.8", 39)
	if again, err := os.ReadFile(kept); err != nil || strings.Contains(string(again), `"thing 7"`) {
		t.Error("after a change the spread is the one from before", err)
	}
	other := filepath.Join(dir, "cosine")
	if code, _, stderr := runArgs(t, "index", "create", "--embeddings", items, "--out", other, "--distance",
		"cosine"); code != exitOK {
		t.Fatal(stderr)
	}
	code, _, stderr = runArgs(t, "identify", "--vector", photos, "--index", other, "--calibration",
		filepath.Join(ix, decide.FileName))
	if code == exitOK || !strings.Contains(stderr, "euclidean distance") {
		t.Errorf("another distance: %s", stderr)
	}
}

// TestCalibrateRefuses says what is missing.
func TestCalibrateRefuses(t *testing.T) {
	dir, run := searchRun(t) // a run that divided images
	for _, e := range []struct {
		args []string
		want string
	}{
		{[]string{"calibrate"}, "missing argument"},
		{[]string{"calibrate", filepath.Join(dir, "nothing")}, "no such file"},
		{[]string{"calibrate", run}, "kept too few photos apart to calibrate on: 0 classes with two photos or more"},
		{[]string{"calibrate", run, "--data", dir}, "has classes that training saw (c0, c1, c2)"},
		{[]string{"calibrate", run, "--fmr", "2"}, "between 0 and 1"},
		{[]string{"calibrate", run, "--folds", "1"}, "want at least 2"},
		{[]string{"calibrate", run, "--folds", "2", "--fmr", "0.1"}, "--fmr does not apply to --folds"},
		{[]string{"calibrate", run, "--distance", "cos"}, "--distance"},
		{[]string{"calibrate", dir}, "give a folder that kindred train has written"},
		{[]string{"identify", "a.jpg", "--run", run, "--in", dir, "--fpir", "0"}, "--fpir 0: must be above 0"},
		{[]string{"identify", "a.jpg", "--run", run, "--in", dir, "--fpir", "1"}, "--fpir 1"},
		{[]string{"identify", "a.jpg", "--run", run, "--in", dir, "--fpir", "-1"}, "--fpir -1"},
		{[]string{"identify", "a.jpg", "--run", run, "--in", dir, "--fpir", "NaN"}, "--fpir NaN"},
		{[]string{"identify", "a.jpg", "--run", run, "--in", dir, "--strangers", "1"}, "--strangers 1"},
		{[]string{"identify", "a.jpg", "--run", run, "--in", dir, "--coverage", "2"}, "--coverage 2"},
		{[]string{"identify", "a.jpg", "--run", run, "--in", dir, "--calibration", "none"},
			"none: no such file or folder: give a file of a calibration"},
		{[]string{"identify", "a.jpg"}, "missing --index"},
		{[]string{"identify", "a.jpg", "--in", dir, "--weights-dir", run}, "missing --calibration"},
		{[]string{"identify", "--index", "x"}, "missing argument PHOTO"},
		{[]string{"identify", filepath.Join(dir, "c0", "1.png"), "--run", run, "--in", dir}, "kindred calibrate"},
	} {
		if code, _, stderr := runArgs(t, e.args...); code == exitOK || !strings.Contains(stderr, e.want) {
			t.Errorf("%v: status %d, %s", e.args, code, stderr)
		}
	}
}

// TestIdentifyPages: the pages show the decisions, the undecided first, with the bound and the
// votes behind each, whether or not there are pictures.
func TestIdentifyPages(t *testing.T) {
	dir := t.TempDir()
	calibration, gallery := filepath.Join(dir, "C.csv"), filepath.Join(dir, "G.csv")
	photos, out := filepath.Join(dir, "Q.csv"), filepath.Join(dir, "why")
	writeThings(t, calibration, 0, 60)
	writeThings(t, gallery, 100, 120)
	writeThings(t, photos, 118, 122)
	if code, _, stderr := runArgs(t, "calibrate", calibration); code != exitOK {
		t.Fatal(stderr)
	}
	args := []string{"identify", "--vector", photos, "--embeddings", gallery, "--calibration",
		filepath.Join(dir, "C.calibration.json"), "--coverage", "0.9", "--out", out, "--neighbours", "5"}
	page := func(name string, more ...string) string {
		t.Helper()
		if code, _, stderr := runArgs(t, append(slices.Clone(args), more...)...); code != exitOK {
			t.Fatal(stderr)
		}
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	contains := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in the page", w)
			}
		}
	}
	first := page("identify.html")
	contains(first, "32 decisions looked up among 160 items of 20 classes", "The undecided come first.",
		"A label needs ", "At most 5", "of unknown photos get that much",
		"<h2>unknown: Q.csv#row=", "not by their number", `href="./identify-2.html"`,
		"no picture", "it is one of these", "Sets are computed from the class&#39;s own items for 0 of 20 classes")
	if n := strings.Count(first, "; the same: "); n != 5*decisions.PhotosPerPage {
		t.Errorf("%d neighbours on a page of %d photos", n, decisions.PhotosPerPage)
	}
	second, err := os.ReadFile(filepath.Join(out, "identify-2.html"))
	if err != nil {
		t.Fatal(err)
	}
	contains(string(second), "<h2>thing 118, ", "A label needs", `href="./identify.html"`)
	if code, _, stderr := runArgs(t, append(args, "--queries", "3")...); code == exitOK ||
		!strings.Contains(stderr, "--force") {
		t.Errorf("written over: %s", stderr)
	}
	contains(page("identify.html", "--force", "--queries", "3"), "The 3 least decided are shown.")
	if _, err := os.Stat(filepath.Join(out, "identify-2.html")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second page of before is still there: %v", err)
	}
	contains(page("identify.html", "--force", "--together", "--fpir", "0.2"), "32 photos of one thing",
		"Half of the photos of one thing must reach it at half of the rate")
}

// TestIdentifyPageOfAnIndex: pictures come from the paths of the items, and a missing one
// leaves a gap.
func TestIdentifyPageOfAnIndex(t *testing.T) {
	dir := t.TempDir()
	items, ix, out := filepath.Join(dir, "C.csv"), filepath.Join(dir, "ix"), filepath.Join(dir, "why")
	writeThings(t, items, 0, 40)
	table, err := embedding.Read(items)
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	pictured := filepath.Join(dir, "pictured")
	if err := errors.Join(png.Encode(&picture, image.NewGray(image.Rect(0, 0, 9, 9))), os.Mkdir(pictured, 0o777),
		os.WriteFile(filepath.Join(pictured, "shown.png"), picture.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	for range table.X.Rows {
		table.Files = append(table.Files, fmt.Sprintf("%d.png", len(table.Files)))
	}
	table.Files[0] = "shown.png"
	if err := embedding.Write(items, table); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"index", "create", "--embeddings", items, "--data", pictured, "--out", ix},
		{"calibrate", ix}, {"identify", "--vector", items, "--index", ix, "--fpir", "0.2", "--out", out, "--queries",
			"400"}} {
		if code, _, stderr := runArgs(t, args...); code != exitOK {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	pictures := 0
	for i := range 320 / decisions.PhotosPerPage {
		text, err := os.ReadFile(filepath.Join(out, decisions.PageName(i)))
		if err != nil {
			t.Fatal(err)
		}
		pictures += strings.Count(string(text), `src="data:image/png`)
	}
	if pictures == 0 {
		t.Error("the one picture that is there is on no page")
	}
}
