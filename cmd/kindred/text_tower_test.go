package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The network and what goes with it are arguments of the commands that need both, and
// the flags say the same.
func TestArgumentsForFlags(t *testing.T) {
	dir, tmp := writePhotos(t), t.TempDir()
	at := func(name string) string { return filepath.Join(tmp, name) }
	small := []string{"--set", "data.split=images:0.3", "--set", "train.epochs=1", "--set", "network.name=mlp", "--set",
		"network.width=8"}
	mustRun(t, append([]string{"train", dir, "--out", at("run")}, small...)...)
	mustRun(t, append([]string{"train", "--data", dir, "--out", at("flags")}, small...)...)
	same := func(a, b string) {
		t.Helper()
		x, err := os.ReadFile(at(a))
		y, err2 := os.ReadFile(at(b))
		if err != nil || err2 != nil || len(x) == 0 || string(x) != string(y) {
			t.Errorf("%s and %s differ: %v, %v", a, b, err, err2)
		}
	}
	same("run/model.safetensors", "flags/model.safetensors")
	mustRun(t, "export", at("run"), "--out", at("a.onnx"))
	mustRun(t, "export", "--run", at("run"), "--out", at("b.onnx"))
	same("a.onnx", "b.onnx")
	mustRun(t, "embed", "--run", at("run"), "--data", dir, "--out", at("flags.csv"))
	for _, c := range []struct {
		name string
		args []string
	}{
		{"both", []string{at("run"), dir}},
		{"run", []string{at("run"), "--data", dir}},
		{"data", []string{"--run", at("run"), dir}},
	} {
		mustRun(t, append([]string{"embed", "--out", at(c.name + ".csv")}, c.args...)...)
		same("flags.csv", c.name+".csv")
		mustRun(t, append([]string{"index", "create", "--out", at(c.name + ".index")}, c.args...)...)
	}
	mustRun(t, "embed", at("a.onnx"), dir, "--out", at("onnx.csv"))
	mustRun(t, "embed", "--network", at("a.onnx"), dir, "--out", at("network.csv"))
	same("onnx.csv", "network.csv")
	mustRun(t, "export", at("both.index/network"), "--out", at("c.onnx"))
	for _, c := range []struct {
		want string
		args []string
	}{
		{"give one", []string{"train", dir, "--data", dir}},
		{"unexpected argument \"x\"", []string{"train", dir, "x"}},
		{"unexpected argument \"x\"", []string{"export", at("run"), "x", "--out", at("d.onnx")}},
		{"unexpected argument \"x\"", []string{"export", "--run", at("run"), "x", "--out", at("d.onnx")}},
		{"give one", []string{"embed", at("run"), dir, "--data", dir, "--out", at("d.csv")}},
		{"unexpected argument \"x\"", []string{"embed", at("run"), dir, "x", "--out", at("d.csv")}},
		{"missing argument DATA", []string{"embed", at("run"), "--out", at("d.csv")}},
		{"give one", []string{"index", "create", at("run"), dir, "--data", dir, "--out", at("d.index")}},
		{"missing argument RUN", []string{"index", "create", "--data", dir, "--out", at("d.index")}},
	} {
		if code, _, stderr := runArgs(t, c.args...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, %s", c.args, code, stderr)
		}
	}
	// A name that is no path is a network's, a path that is not there a run's.
	t.Setenv("KINDRED_WEIGHTS", t.TempDir())
	for arg, want := range map[string]string{"resnet18": "kindred weights get resnet18",
		at("none"): "give the folder of a run", "none.onnx": "none.onnx"} {
		if code, _, stderr := runArgs(t, "export", arg, "--out", at("d.onnx")); code != exitFailure ||
			!strings.Contains(stderr, want) {
			t.Errorf("export %s: status %d, %s", arg, code, stderr)
		}
	}
}

// Commands that go on with a run whose photos were moved ask where they are, and take it.
func TestMovedPhotos(t *testing.T) {
	run, dir := trainRun(t)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"clean", run, "--out", filepath.Join(t.TempDir(), "c")},
		{"discover", run, "--out", filepath.Join(t.TempDir(), "d")},
		{"report", run, "--out", filepath.Join(t.TempDir(), "r")},
		{"train", "--resume", run, "--set", "train.epochs=2"}, // the last: the run remembers
	} {
		code, _, stderr := runArgs(t, args...)
		if (code == exitOK) != (args[0] == "report") || !strings.Contains(stderr, "give its new place with --data") {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
		code, _, stderr = runArgs(t, append(args, "--data", filepath.Join(moved, "none"), "--force")...)
		if args[0] != "train" && ((code == exitOK) != (args[0] == "report") || !strings.Contains(stderr, "none") ||
			strings.Contains(stderr, "say where")) {
			t.Errorf("%v elsewhere: status %d, %s", args, code, stderr)
		}
		if args[0] != "train" {
			args = append(args, "--force")
		}
		code, _, stderr = runArgs(t, append(args, "--data", moved)...)
		if code != exitOK || strings.Contains(stderr, "say where") || strings.Contains(stderr, "no photos") {
			t.Errorf("%v --data: status %d, %s", args, code, stderr)
		}
	}
	// The run remembers where its photos are now.
	mustRun(t, "train", "--resume", run, "--set", "train.epochs=3")
}

// data info says what labels are for in words, and train what an image is pulled towards
// and why validation is no test.
func TestPlainWords(t *testing.T) {
	dir, tmp := writePhotos(t), t.TempDir()
	if out := mustRun(t, "data", "info", dir); !strings.Contains(out, "(used for training and scores): 3 classes") ||
		strings.Contains(out, "trained with") {
		t.Error(out)
	}
	code, _, said := runArgs(t, "train", dir, "--out", filepath.Join(tmp, "run"), "--set", "data.split=images:0.5",
		"--set", "data.validation=images:0.3", "--set", "train.epochs=1", "--set", "network.name=mlp", "--set",
		"loss.name=multisimilarity", "--set", "network.width=8")
	flat := strings.ReplaceAll(said, "\n"+strings.Repeat(" ", 13), " ")
	for _, want := range []string{"each image is pulled towards the ones of its class that",
		"(positives ms) and pushed away from ",
		"\nthe validation gallery has 6 images of 3 classes and the test gallery 9 of 3: "} {
		if code != exitOK || !strings.Contains(flat, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, flat)
		}
	}
}

// Where no network can be had, search names the ways without one.
func TestSearchOffline(t *testing.T) {
	dir := writePhotos(t)
	t.Setenv("KINDRED_WEIGHTS", t.TempDir())
	code, _, stderr := runArgs(t, "search", filepath.Join(dir, "c0", "1.png"), "--in", dir, "--offline")
	if code != exitFailure || !strings.Contains(stderr, "--network model.onnx") ||
		!strings.Contains(stderr, "--run DIR") {
		t.Errorf("status %d, %s", code, stderr)
	}
	code, _, stderr = runArgs(t, "search", filepath.Join(dir, "c0", "1.png"), "--in", dir, "--network", "resnet18")
	if code != exitFailure || !strings.Contains(stderr, "--network model.onnx") {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// clean of embeddings without pictures says first that it looks for no copies, and then
// does not count any.
func TestCleanWithoutPictures(t *testing.T) {
	run, dir := trainRun(t)
	tmp := t.TempDir()
	e := filepath.Join(tmp, "E.parquet")
	mustRun(t, "embed", run, dir, "--out", e)
	code, out, stderr := runArgs(t, "clean", e, "--out", filepath.Join(tmp, "a"))
	if code != exitOK || !strings.HasPrefix(stderr, e+" has no pictures") ||
		!strings.Contains(stderr, "give their folder with --data") || !strings.Contains(out, "copies: not searched,") {
		t.Errorf("status %d, %s\n%s", code, out, stderr)
	}
	page, err := os.ReadFile(filepath.Join(tmp, "a", "review.html"))
	if err != nil || !strings.Contains(string(page), "copies: not searched,") {
		t.Errorf("the page does not say it: %v", err)
	}
	if out := mustRun(t, "clean", e, "--json", "--out", filepath.Join(tmp, "b")); !strings.Contains(out,
		"\"pictures\": false") {
		t.Error(out)
	}
	code, out, stderr = runArgs(t, "clean", e, "--data", dir, "--out", filepath.Join(tmp, "c"))
	if code != exitOK || strings.Contains(stderr, "no pictures") || !strings.Contains(out, "copies: 14,") {
		t.Errorf("status %d, %s\n%s", code, out, stderr)
	}
}
