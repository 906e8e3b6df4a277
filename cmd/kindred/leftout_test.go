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

// photos writes three classes of six pictures of 8 x 8 pixels.
func photos(t *testing.T) string {
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
			put(t, filepath.Join(dir, fmt.Sprintf("c%d", c), fmt.Sprintf("%d.png", i)), b.Bytes())
		}
	}
	return dir
}

func put(t *testing.T, path string, b []byte) {
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
	dir, run, out := photos(t), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "E.npy")
	put(t, filepath.Join(dir, "c0", "x.heic"), []byte("x"))
	put(t, filepath.Join(dir, "c1", "cut.png"), []byte("\x89PNG\r\n\x1a\n"))
	sayLeftOut(t, dir,
		[]string{"train", "--data", dir, "--out", run, "--set", "train.epochs=2", "--set", "network.name=mlp",
			"--set", "network.width=8", "--set", "data.split=images:0.3", "--set", "data.skip_corrupt=true"})
	sayLeftOut(t, dir, []string{"embed", "--run", run, "--data", dir, "--out", out})
}

// A picture that cannot be read ends training and embedding with its name and with
// what leaves it out.
func TestUnreadablePicturesNameTheWayOut(t *testing.T) {
	dir, run, out := photos(t), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "E.csv")
	train := []string{"train", "--data", dir, "--out", run, "--set", "train.epochs=1", "--set", "network.name=mlp",
		"--set", "network.width=8", "--set", "sample.batches=3"}
	if code, _, stderr := runArgs(t, train...); code != exitOK {
		t.Fatal(stderr)
	}
	cut := filepath.Join(dir, "c1", "cut.png")
	put(t, cut, []byte("\x89PNG\r\n\x1a\n"))
	embed := []string{"embed", "--run", run, "--data", dir, "--out", out}
	for _, c := range []struct {
		args []string
		way  string
		with []string
	}{
		{embed, "--skip-corrupt", []string{"--skip-corrupt"}},
		{append(train, "--force"), "data.skip_corrupt=true", []string{"--set", "data.skip_corrupt=true"}},
		{append(train, "--force", "--set", "data.cache=true"), "data.skip_corrupt=true",
			[]string{"--set", "data.skip_corrupt=true"}},
	} {
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		code, _, stderr := runArgs(t, c.args...)
		if code != exitFailure || !strings.Contains(stderr, cut+": ") ||
			!strings.Contains(stderr, "\n"+c.way+" leaves") {
			t.Errorf("%v: status %d, %s", c.args, code, stderr)
		}
		code, _, stderr = runArgs(t, append(c.args, c.with...)...)
		if code != exitOK || !strings.Contains(stderr, "cut.png") {
			t.Errorf("%v %v: status %d, %s", c.args, c.with, code, stderr)
		}
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
	dir := photos(t)
	list := filepath.Join(t.TempDir(), "list.csv")
	put(t, list, fmt.Appendf(nil, "path,label\n%s,x\n%s,y\n", filepath.Join(dir, "c0", "1.png"),
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
