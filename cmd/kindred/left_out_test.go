package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

// writePhotos writes three classes of six pictures of 8 x 8 pixels.
func writePhotos(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for c := range 3 {
		for i := range 6 {
			im := image.NewGray(image.Rect(0, 0, 8, 8))
			for k := range im.Pix {
				im.Pix[k] = uint8(80*c + i + k*k*(c+1))
			}
			var b bytes.Buffer
			if err := png.Encode(&b, im); err != nil {
				t.Fatal(err)
			}
			writeBytes(t, filepath.Join(dir, fmt.Sprintf("c%d", c), fmt.Sprintf("%d.png", i)), b.Bytes())
		}
	}
	return dir
}

func writeBytes(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Files that are no samples, and samples that cannot be read, are counted and
// named by train and embed, on standard error and in their JSON.
func TestLeftOutIsSaid(t *testing.T) {
	dir, run, out := writePhotos(t), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "E.npy")
	writeBytes(t, filepath.Join(dir, "c0", "x.heic"), []byte("x"))
	writeBytes(t, filepath.Join(dir, "c1", "cut.png"), []byte("\x89PNG\r\n\x1a\n"))
	sayLeftOut(t, dir,
		[]string{"train", "--data", dir, "--out", run, "--set", "train.epochs=2", "--set", "network.name=mlp",
			"--set", "network.width=8", "--set", "data.split=images:0.3"})
	sayLeftOut(t, dir, []string{"embed", "--run", run, "--data", dir, "--out", out})
}

// A picture that cannot be read ends what is strict, with its name and what leaves it
// out, and nothing else.
func TestStrict(t *testing.T) {
	dir, out := writePhotos(t), t.TempDir()
	at := func(name string) string { return filepath.Join(out, name) }
	small := []string{"--set", "train.epochs=1", "--set", "network.name=mlp", "--set", "network.width=8", "--set",
		"sample.batches=3", "--force"}
	if code, _, stderr := runArgs(t, append([]string{"train", "--data", dir, "--out", at("run")}, small...)...); code !=
		exitOK {
		t.Fatal(stderr)
	}
	good := filepath.Join(dir, "c0", "1.png")
	if code, _, stderr := runArgs(t, "index", "create", "--run", at("run"), "--data", dir, "--out", at("x")); code !=
		exitOK {
		t.Fatal(stderr)
	}
	cut := filepath.Join(dir, "c1", "cut.png")
	writeBytes(t, cut, []byte("\x89PNG\r\n\x1a\n"))
	// One run each is strict and one is not, so that every file is written once.
	for i, args := range [][]string{
		append([]string{"train", "--data", dir, "--out", at("cut")}, small...),
		append([]string{"train", "--data", dir, "--out", at("cut"), "--set", "data.cache=true"}, small...),
		{"embed", "--run", at("run"), "--data", dir, "--out", at("E.csv")},
		{"search", good, "--run", at("run"), "--in", dir},
		{"search", good, cut, "--run", at("run"), "--in", filepath.Join(dir, "c0")},
		{"search", good, cut, "--index", at("x")},
		{"index", "search", at("x"), good, cut},
		{"index", "add", at("x"), "--data", dir},
		{"clean", at("run"), "--out", at("clean"), "--force"},
		{"discover", at("run"), "--out", at("found"), "--force"},
	} {
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		code, _, stderr := runArgs(t, append(args, "--strict")...)
		if code != exitFailure || !strings.Contains(stderr, cut+": damaged PNG") ||
			!strings.Contains(stderr, "\n--strict (data.strict: true) ends the run here; without it") {
			t.Errorf("%d: %v --strict: status %d, %s", i, args, code, stderr)
		}
		code, _, stderr = runArgs(t, args...)
		if code != exitOK || !strings.Contains(stderr, "left out 1: could not be read: "+cut+": damaged PNG") {
			t.Errorf("%d: %v: status %d, %s", i, args, code, stderr)
		}
	}
	for _, strict := range []bool{false, true} {
		args, want := []string{"data", "info", dir}, exitOK
		if strict {
			args, want = append(args, "--strict"), exitFailure
		}
		code, stdout, stderr := runArgs(t, args...)
		if code != want || !strings.Contains(stdout, "unreadable: 1\n  "+cut) ||
			strings.Contains(stderr, cut) != strict {
			t.Errorf("%v: status %d, %s%s", args, code, stdout, stderr)
		}
	}
}

// Where no picture can be read there is nothing to go on with, and the error names
// five of them.
func TestNoPictureCanBeRead(t *testing.T) {
	dir, run := writePhotos(t), filepath.Join(t.TempDir(), "run")
	train := []string{"train", "--data", dir, "--out", run, "--set", "train.epochs=1", "--set", "network.name=mlp",
		"--set", "network.width=8", "--set", "sample.batches=3"}
	if code, _, stderr := runArgs(t, train...); code != exitOK {
		t.Fatal(stderr)
	}
	for c := range 3 {
		for i := range 6 {
			writeBytes(t, filepath.Join(dir, fmt.Sprintf("c%d", c), fmt.Sprintf("%d.png", i)),
				[]byte("\x89PNG\r\n\x1a\n"))
		}
	}
	out := t.TempDir()
	at := func(name string) string { return filepath.Join(out, name) }
	for _, c := range []struct {
		want  string
		named int
		args  []string
	}{
		{"none of 18 pictures can be read; ", 5, []string{"embed", "--run", run, "--data", dir, "--out", at("E.csv")}},
		{"none of 18 pictures can be read; ", 5, []string{"index", "create", "--run", run, "--data", dir, "--out",
			at("x")}},
		{"none of 1 pictures can be read; ", 1, []string{"search", filepath.Join(dir, "c0", "1.png"), "--run", run,
			"--in", dir}},
		{"none of the batch's samples could be read\n", 5, append(train, "--force")},
	} {
		code, _, stderr := runArgs(t, c.args...)
		if code != exitFailure || !strings.Contains(stderr, c.want) ||
			strings.Count(stderr, ": damaged PNG") != c.named ||
			strings.Contains(stderr, ", ...") != (c.named == 5) {
			t.Errorf("%s: status %d, %s", c.args[0], code, stderr)
		}
	}
}

// One photo beside the class folders is left out, and said, by every command, none of
// which loses the classes by it.
func TestLoosePhotoKeepsClasses(t *testing.T) {
	dir, out := writePhotos(t), t.TempDir()
	at := func(name string) string { return filepath.Join(out, name) }
	good, err := os.ReadFile(filepath.Join(dir, "c0", "1.png"))
	if err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(dir, "loose.png"), good)
	photo := filepath.Join(t.TempDir(), "photo.png")
	writeBytes(t, photo, good)
	for _, c := range []struct {
		args []string
		want string // of standard output
	}{
		{[]string{"train", "--data", dir, "--out", at("run"), "--set", "train.epochs=1", "--set", "network.name=mlp",
			"--set", "network.width=8", "--set", "sample.batches=3"}, "test_recall@1"},
		{[]string{"data", "info", dir}, "3 classes of 6 to 6"},
		{[]string{"embed", "--run", at("run"), "--data", dir, "--out", at("E.npy")}, "18 embeddings"},
		{[]string{"index", "create", "--run", at("run"), "--data", dir, "--out", at("x")}, "18 items"},
		{[]string{"search", photo, "--run", at("run"), "--in", dir, "--neighbours", "1"}, "  c0\n"},
	} {
		code, stdout, stderr := runArgs(t, c.args...)
		if code != exitOK || !strings.Contains(stdout, c.want) ||
			!strings.Contains(stdout+stderr, "left out 1: at the top, outside any class folder (move them into a "+
				"folder, if they belong to the set): loose.png\n") {
			t.Errorf("%v: status %d, %s%s", c.args, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := runArgs(t, "index", "search", at("x"), photo, "--neighbours", "1"); code != exitOK ||
		!strings.Contains(stdout, "label=c0") {
		t.Errorf("status %d, %s%s", code, stdout, stderr)
	}
	labels, err := os.ReadFile(at("E.labels.csv"))
	if err != nil || !strings.Contains(string(labels), "c0/1.png,c0") || strings.Contains(string(labels), "loose") {
		t.Errorf("%v: %s", err, labels)
	}
}

// A folder without classes, one whose folders are dates, and one with most photos at
// the top are taken by data info with a word on each; training says the same.
func TestRemarkableFolders(t *testing.T) {
	flat, dated, most := t.TempDir(), t.TempDir(), writePhotos(t)
	good, err := os.ReadFile(filepath.Join(most, "c0", "1.png"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 19 {
		writeBytes(t, filepath.Join(flat, fmt.Sprintf("%d.png", i)), good)
		writeBytes(t, filepath.Join(most, fmt.Sprintf("%d.png", i)), good)
		writeBytes(t, filepath.Join(dated, "2024", "03", fmt.Sprintf("%02d", i+1), "IMG.png"), good)
	}
	sheet := filepath.Join(t.TempDir(), "sheet.png")
	for _, c := range []struct {
		dir, info, train string
		samples          int
	}{
		{flat, "no labels: the set can be embedded", "19 images and no folders, so the set has no classes", 19},
		{most, "note: 19 images at the top, and 18 in folders: the folders are not taken for classes",
			"19 images at the top, and 18 in folders, so the set has no classes", 37},
		{dated, "note: the folders are dates, such as 2024/03/01", "the folders are dates, such as 2024/03/01", 19},
	} {
		code, stdout, stderr := runArgs(t, "data", "info", c.dir, "--sheet", sheet, "--force")
		if code != exitOK || !strings.Contains(stdout, fmt.Sprintf(": %d samples, ", c.samples)) ||
			!strings.Contains(stdout, c.info) {
			t.Errorf("status %d: %s%s", code, stdout, stderr)
		}
		code, _, stderr = runArgs(t, "train", "--data", c.dir, "--out", filepath.Join(t.TempDir(), "run"))
		if code != exitFailure || !strings.Contains(stderr, c.train) || !strings.Contains(stderr, "manifest") {
			t.Errorf("status %d: %s", code, stderr)
		}
	}
	// Days with several photos can be trained on: the banner says what they are.
	for i := range 3 {
		for k := range 6 {
			writeBytes(t, filepath.Join(dated, "2024", "03", fmt.Sprintf("%02d", i+1), fmt.Sprintf("%d.png", k)), good)
		}
	}
	code, _, stderr := runArgs(t, "train", "--data", dated, "--out", filepath.Join(t.TempDir(), "run"), "--set",
		"train.epochs=1", "--set", "network.name=mlp", "--set", "network.width=8", "--set", "sample.batches=2",
		"--set", "data.split=images:0.5")
	if code != exitOK || !strings.Contains(stderr, "\nnote         the folders are dates, such as 2024/03/01") {
		t.Errorf("status %d: %s", code, stderr)
	}
}

func sayLeftOut(t *testing.T, dir string, args []string) {
	t.Helper()
	code, stdout, stderr := runArgs(t, append(args, "--json")...)
	var got struct {
		LeftOut []data.LeftOut `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil {
		t.Fatalf("%s: status %d, %v\n%s", args[0], code, err, stderr)
	}
	if len(got.LeftOut) != 2 || got.LeftOut[0].Count != 1 || got.LeftOut[0].First[0] != "c0/x.heic" ||
		got.LeftOut[1].Count != 1 ||
		!strings.HasPrefix(got.LeftOut[1].First[0], filepath.Join(dir, "c1", "cut.png")+": damaged PNG") {
		t.Errorf("%s: %+v", args[0], got.LeftOut)
	}
	for _, l := range got.LeftOut {
		if !strings.Contains(stderr, l.String()+"\n") {
			t.Errorf("%s does not say %q:\n%s", args[0], l, stderr)
		}
	}
}

// A manifest that names files elsewhere needs the flag, whose name the error gives.
func TestAllowOutside(t *testing.T) {
	dir := writePhotos(t)
	list := filepath.Join(t.TempDir(), "list.csv")
	writeBytes(t, list, fmt.Appendf(nil, "path,label\n%s,x\n%s,y\n", filepath.Join(dir, "c0", "1.png"),
		filepath.Join(dir, "c1", "1.png")))
	if code, _, stderr := runArgs(t, "data", "info", list); code != exitFailure ||
		!strings.Contains(stderr, list+":2: ") || !strings.Contains(stderr, "--allow-outside") {
		t.Errorf("status %d: %s", code, stderr)
	}
	if code, stdout, stderr := runArgs(t, "data", "info", list, "--allow-outside"); code != 0 ||
		!strings.Contains(stdout, "2 samples") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	train := []string{"train", "--data", list, "--out", filepath.Join(t.TempDir(), "run"), "--set", "train.epochs=1"}
	if code, _, stderr := runArgs(t, train...); code == 0 || !strings.Contains(stderr, "--allow-outside") {
		t.Errorf("status %d: %s", code, stderr)
	}
	// One picture a class cannot be trained on: the data set was opened.
	if code, _, stderr := runArgs(t, append(train, "--allow-outside")...); code == 0 ||
		strings.Contains(stderr, "outside") {
		t.Errorf("status %d: %s", code, stderr)
	}
}
