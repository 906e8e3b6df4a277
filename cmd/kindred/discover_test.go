package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

// writeKindsFile goes to an empty folder and writes E.csv: two classes of 60 items, the
// first of three kinds. Six labels are wrong; the function returns these rows.
func writeKindsFile(t *testing.T) (wrong []int) {
	t.Helper()
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(3, 1))
	x := matrix.New(120, 6)
	label, split, paths := make([]string, 120), make([]string, 120), make([]string, 120)
	for i := range x.Rows {
		at := i % 3
		label[i], split[i] = "bird", []string{"train", "test"}[i%2]
		paths[i] = fmt.Sprintf("photo_%03d.jpg", i)
		if i >= 60 {
			label[i], at = "fish", 3
		}
		if i%20 == 7 {
			label[i] = map[string]string{"bird": "fish", "fish": "bird"}[label[i]]
			wrong = append(wrong, i)
		}
		for j := range x.Cols {
			x.Row(i)[j] = float32(rng.NormFloat64())
		}
		x.Row(i)[at] += 14
	}
	table, err := embedding.NewTable(x, paths, []embedding.Column{embedding.NewColumn("label", label),
		embedding.NewColumn("split", split)})
	if err != nil {
		t.Fatal(err)
	}
	if err := embedding.Write("E.csv", table); err != nil {
		t.Fatal(err)
	}
	return wrong
}

// readCSV reads a file of CSV.
func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}

func TestDiscoverFile(t *testing.T) {
	writeKindsFile(t)
	out, _ := runProgram(t, "discover E.csv --out kinds --json")
	var d discoverResult
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if d.Items != 120 || len(d.Classes) != 2 || d.Classes[0].Label != "bird" || len(d.Classes[0].Kinds) < 3 ||
		d.Classes[0].P > 0.05 || len(d.Classes[0].Kinds[0].Different) != 4 {
		t.Errorf("%+v", d)
	}
	rows := readCSV(t, "kinds/kinds.csv")
	if len(rows) != 121 || strings.Join(rows[0], ",") != "id,path,label,kind" {
		t.Errorf("%d rows, header %q", len(rows), rows[0])
	}
	// Rows 0, 3, 6 are of one kind, 1, 4 of another.
	if rows[1][3] != rows[4][3] || rows[1][3] == rows[2][3] || !strings.HasPrefix(rows[1][3], "bird ") {
		t.Errorf("kinds %q, %q, %q", rows[1], rows[2], rows[4])
	}
	if m := readCSV(t, "kinds/manifest.csv"); strings.Join(m[0], ",") != "path,label,coarse,split" ||
		m[1][2] != "bird" ||
		m[1][1] != rows[1][3] || m[2][3] != "test" {
		t.Errorf("manifest %q", m[:3])
	}
	page, err := os.ReadFile("kinds/review.html")
	if err != nil || !strings.Contains(string(page), "bird: sub-class 1 of") {
		t.Errorf("%v: the page has no card", err)
	}
	if len(readCSV(t, "kinds/classes.csv")) != d.Kinds+1 {
		t.Error("classes.csv has not a line for each kind")
	}
}

// discover and diagnose say the same of the same rows.
func TestSameVerdict(t *testing.T) {
	writeKindsFile(t)
	found, _ := runProgram(t, "discover E.csv --out kinds")
	told, _ := runProgram(t, "diagnose E.csv --label label")
	const want = "1 of 2 classes fall into groups (level 5 %; such groups may be bursts"
	if !strings.Contains(found, want) || !strings.Contains(told, want) {
		t.Errorf("discover:\n%s\ndiagnose:\n%s", found, told)
	}
}

func TestCleanFile(t *testing.T) {
	wrong := writeKindsFile(t)
	out, _ := runProgram(t, "clean E.csv --out suspects --apply relabel --json")
	var c cleanResult
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, s := range c.Suspects {
		if strings.HasPrefix(s.Reason, "label: ") {
			var i int
			if _, err := fmt.Sscanf(s.ID, "photo_%d.jpg", &i); err != nil || s.ID != s.Path {
				t.Errorf("%+v, %v", s, err)
			}
			found = append(found, i)
			if s.Score < 0.5 || s.Score > 1 || s.Suggested == s.Label || s.Suggested == "" {
				t.Errorf("%+v", s)
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, wrong) || c.Labels != len(wrong) {
		t.Errorf("suspects %v, want %v", found, wrong)
	}
	const head = "id,path,label,suggested,score,reason"
	if rows := readCSV(t, "suspects/suspects.csv"); strings.Join(rows[0], ",") != head ||
		len(rows) != len(c.Suspects)+1 {
		t.Errorf("%q", rows[0])
	}
	m := readCSV(t, "suspects/manifest.csv")
	for i, row := range m[1:] {
		if want := map[bool]string{true: "bird", false: "fish"}[i < 60]; row[1] != want || len(row) != 3 {
			t.Errorf("row %d of the manifest: %q, want %s", i, row, want)
		}
	}
	runProgram(t, "clean E.csv --out dropped --apply drop --no-pictures")
	if n := len(readCSV(t, "dropped/manifest.csv")); n != 121-len(wrong) {
		t.Errorf("%d lines after dropping", n)
	}
}

// Labels of a look-alike are told by pairs, in words and as JSON.
func TestCleanConfused(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(3, 33))
	x, labels := matrix.New(480, 4), make([]string, 480)
	for i := range x.Rows {
		class := i % 4
		labels[i] = []string{"lynx", "cat", "bus", "tram"}[class]
		if class == 1 && i%20 < 4 { // a fifth of the cats
			labels[i] = "lynx"
		}
		for j := range x.Cols {
			x.Row(i)[j] = float32(rng.NormFloat64() + 30*float64(class/2*(j%2)))
		}
		x.Row(i)[0] += 6 * float32(class%2)
	}
	e, err := embedding.NewTable(x, nil, []embedding.Column{embedding.NewColumn("label", labels)})
	if err == nil {
		err = embedding.Write("E.csv", e)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, _ := runProgram(t, "clean E.csv --out suspects --json")
	var c cleanResult
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Confused) != 1 || c.Confused[0].Label != "lynx" || c.Confused[0].Class != "cat" ||
		c.Confused[0].Items != 144 || c.Confused[0].Wrong < 12 || c.Confused[0].Wrong > 36 {
		t.Errorf("%+v", c.Confused)
	}
	t.Logf("%+v", c.Confused)
	out, _ = runProgram(t, "clean E.csv --out again")
	if !strings.Contains(out, "of the 144 labelled lynx are likely to be cat") {
		t.Error(out)
	}
}

// A set in which a picture is repeated, some are black and the embeddings of all of these
// are the same: each is listed once, beside the first of its kind.
func TestCleanRepeated(t *testing.T) {
	t.Chdir(t.TempDir())
	const n, repeated, black = 400, 300, 50
	rng := rand.New(rand.NewPCG(4, 1))
	for _, class := range []string{"cat", "dog"} {
		if err := os.MkdirAll(filepath.Join("photos", class), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	x, paths, label := matrix.New(n, 4), make([]string, n), make([]string, n)
	for i := range n {
		at := rng
		if i < repeated {
			at = rand.New(rand.NewPCG(5, 1))
		}
		im := image.NewGray(image.Rect(0, 0, 16, 16))
		for k := range im.Pix {
			if i < n-black {
				im.Pix[k] = uint8(at.IntN(256))
			}
		}
		label[i] = []string{"cat", "dog"}[i%2]
		paths[i] = fmt.Sprintf("%s/%03d.png", label[i], i)
		w, err := os.Create(filepath.Join("photos", paths[i]))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(w, im), w.Close()); err != nil {
			t.Fatal(err)
		}
		for j := range x.Cols {
			if i >= repeated && i < n-black {
				x.Row(i)[j] = float32(rng.NormFloat64())
			}
		}
	}
	e, err := embedding.NewTable(x, paths, []embedding.Column{embedding.NewColumn("label", label)})
	if err != nil {
		t.Fatal(err)
	}
	if err := embedding.Write("E.csv", e); err != nil {
		t.Fatal(err)
	}
	out, _ := runProgram(t, "clean E.csv --data photos --out suspects")
	if want := fmt.Sprintf("copies: %d, odd items: ", repeated-1); !strings.Contains(out, want) ||
		!strings.Contains(out, fmt.Sprintf("blank pictures: %d", black)) {
		t.Errorf("%s\nwant %s", out, want)
	}
	copied := 0
	for _, row := range readCSV(t, "suspects/suspects.csv") {
		if strings.HasPrefix(row[5], "copy: ") {
			copied++
			if !strings.HasPrefix(row[5], "copy: the same picture as cat/000.png") || row[4] != "1.0000" {
				t.Errorf("%q", row)
			}
		}
	}
	if copied != repeated-1 {
		t.Errorf("%d lines on copies, want %d", copied, repeated-1)
	}
}

// A run is discovered and cleaned, with folds, and what that writes trains the next.
func TestRunsOnCorrectedLabels(t *testing.T) {
	t.Chdir(t.TempDir())
	writeShapes(t, "photos", 3, 3, 10)
	// A copy under another name.
	b, err := os.ReadFile(filepath.Join("photos", "coarse1", "fine0", "3.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("photos", "coarse1", "fine0", "copy.png"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	runProgram(t, "train --data photos --set train.epochs=2 --set network.pretrained=none --set network.width=8 "+
		"--out runs/a")
	runProgram(t, "discover runs/a --out kinds --level 1")
	rows := readCSV(t, "kinds/manifest.csv")
	if len(rows) != 92 || !filepath.IsAbs(rows[1][0]) {
		t.Fatalf("%d lines, the first %q", len(rows), rows[1])
	}
	runProgram(t, "train --data kinds/manifest.csv --set data.outside=true --set sample.name=hierarchical "+
		"--set train.epochs=1 --set network.pretrained=none --set network.width=8 --out runs/b")
	out, _ := runProgram(t, "clean runs/a --folds 2 --apply relabel --out suspects")
	if !strings.Contains(out, "copies: 1, odd items: ") {
		t.Errorf("%s", out)
	}
	copied := slices.ContainsFunc(readCSV(t, "suspects/suspects.csv"), func(row []string) bool {
		return strings.Contains(row[5], "copy: the same picture as")
	})
	if !copied {
		t.Error("no line on the copy")
	}
	runProgram(t, "train --data suspects/manifest.csv --set data.outside=true --set train.epochs=1 "+
		"--set network.pretrained=none --set network.width=8 --out runs/c")
	runProgram(t, "report runs/a runs/b runs/c --out report")
}

// A server shows the page without any index, keeps what is decided in its folder, and
// no second server writes there.
func TestServeReview(t *testing.T) {
	writeKindsFile(t)
	runProgram(t, "clean E.csv --out suspects")
	s, stop := startServe(t, "--review", "suspects")
	if s.Review != s.URL+"/review" || len(s.Collections) != 0 {
		t.Errorf("%+v", s)
	}
	for path, want := range map[string]string{"/review": "review.js", "/v1/review": `"title":"Suspects"`,
		"/v1/items": "the server has no collection"} {
		a, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %.300s", path, err, text)
		}
		a.Body.Close()
	}
	if code, _, errOut := runArgs(t, "serve", "--listen", "127.0.0.1:0", "--review", "suspects"); code != exitFailure ||
		!strings.Contains(errOut, "suspects") {
		t.Errorf("a second server: status %d, %s", code, errOut)
	}
	const drop = `{"version":0,"done":{"0":{"action":"drop","at":"2026-01-02T03:04:05Z"}},"past":[],"at":0}`
	r, err := http.NewRequest("PUT", s.URL+"/v1/review/decisions", strings.NewReader(drop))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	stop()
	if text, err := os.ReadFile(filepath.Join("suspects", "decisions.json")); err != nil || a.StatusCode != 200 ||
		!strings.Contains(string(text), `"drop"`) {
		t.Errorf("%d, %v, %s", a.StatusCode, err, text)
	}
}

func TestReviewMistakes(t *testing.T) {
	writeKindsFile(t)
	for _, c := range []struct {
		line  string
		code  int
		words string
	}{
		{"discover E.csv", exitUsage, "--out"},
		{"discover", exitUsage, "0 arguments: want one"},
		{"discover E.csv --out a --method wardd", exitUsage, "ward"},
		{"discover E.csv --out a --level 0", exitUsage, "--level"},
		{"discover E.csv --out a --most 1", exitUsage, "--most"},
		{"discover E.csv --out a --distance dot", exitUsage, "euclidean or cosine"},
		{"discover E.csv --out a --label none", exitFailure, "none"},
		{"discover none.csv --out a", exitFailure, "none.csv"},
		{"discover . --out a", exitFailure, "not the folder of a run"},
		{"clean E.csv", exitUsage, "--out"},
		{"clean E.csv --out a --folds 1", exitUsage, "--folds"},
		{"clean E.csv --out a --folds 2", exitUsage, "folder of a run"},
		{"clean E.csv --out a --apply delete", exitUsage, "relabel or drop"},
		{"clean E.csv --out a --least 2", exitUsage, "--least"},
		{"serve", exitUsage, "--review"},
		{"serve --listen 127.0.0.1:0 --review none", exitFailure, "kindred discover"},
		{"serve --listen 127.0.0.1:0 --review .", exitFailure, "review.json"},
	} {
		code, _, errOut := runArgs(t, strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(errOut, c.words) {
			t.Errorf("%s: status %d, %s", c.line, code, errOut)
		}
	}
}

// TestDiscoverSaysHowToTrain: where the items are files, the command that trains on
// classes and kinds is printed; where they are names alone, none is.
func TestDiscoverSaysHowToTrain(t *testing.T) {
	writeKindsFile(t)
	const next = " train --data kinds/manifest.csv --allow-outside --set sample.name=hierarchical"
	if out, _ := runProgram(t, "discover E.csv --out kinds"); strings.Contains(out, next) {
		t.Error(out)
	}
	writeBytes(t, "photo_000.jpg", []byte("here"))
	if out, _ := runProgram(t, "discover E.csv --out kinds --force"); !strings.Contains(out, next+"\n") {
		t.Error(out)
	}
}
