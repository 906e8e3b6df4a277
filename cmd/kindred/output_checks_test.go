package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli"
)

// trainRun is the folder of a run on photos, and those.
func trainRun(t *testing.T) (run, dir string) {
	t.Helper()
	dir, run = writePhotos(t), filepath.Join(t.TempDir(), "run")
	mustRun(t, "train", "--data", dir, "--out", run, "--set", "data.split=images:0.3", "--set", "train.epochs=1",
		"--set",
		"network.name=mlp", "--set", "network.width=8")
	return run, dir
}

// What cannot be written is found before the work, and a folder that is missing is made.
func TestPlaceOfResultsComesFirst(t *testing.T) {
	run, dir := trainRun(t)
	tmp := t.TempDir()
	file := filepath.Join(tmp, "file")
	writeBytes(t, file, []byte("mine"))
	e := filepath.Join(run, "embeddings.npy")
	for _, c := range []struct {
		name string // of the file in a folder that is there, "" for a folder of results
		args []string
	}{
		{"E.parquet", []string{"embed", "--run", run, "--data", dir, "--out"}},
		{"E.npy", []string{"embed", "--run", run, "--data", dir, "--out"}},
		{"Y.csv", []string{"embed", "--run", run, "--data", dir, "--out", filepath.Join(tmp, "E.npy"), "--labels"}},
		{"m.onnx", []string{"export", "--run", run, "--out"}},
		{"m.safetensors", []string{"export", "--run", run, "--out"}},
		{"sheet.png", []string{"data", "info", dir, "--sheet"}},
		{"G.npy", []string{"loss", "--loss", "triplet", "--embeddings", e, "--labels", filepath.Join(run, "labels.csv"),
			"--grad"}},
		{"", []string{"eval", "--embeddings", e, "--out"}},
		{"", []string{"map", "--embeddings", e, "--method", "pca", "--out"}},
		{"", []string{"neighbours", "--embeddings", e, "--out"}},
		{"", []string{"diagnose", e, "--out"}},
		{"", []string{"discover", run, "--out"}},
		{"", []string{"clean", run, "--out"}},
		{"", []string{"search", filepath.Join(dir, "c0", "0.png"), "--run", run, "--in", dir, "--out"}},
	} {
		out := filepath.Join(file, "below", c.name)
		code, _, stderr := runArgs(t, append(c.args, out)...)
		if code != exitFailure || !strings.Contains(stderr, "cannot be written: ") || !strings.Contains(stderr, out) {
			t.Errorf("%v %s: status %d, %s", c.args, out, code, stderr)
		}
		out = filepath.Join(tmp, c.args[0]+c.name, "new", c.name)
		if code, _, stderr := runArgs(t, append(c.args, out)...); code != exitOK {
			t.Errorf("%v %s: status %d, %s", c.args, out, code, stderr)
		}
		if _, err := os.Stat(out); err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
}

// A .npy file has no place for the paths of photos without labels: embed says so before
// it embeds, and leaves nothing.
func TestEmbedFlatFolder(t *testing.T) {
	run, dir := trainRun(t)
	flat, tmp := filepath.Join(dir, "c0"), t.TempDir()
	for _, args := range [][]string{
		{"--out", filepath.Join(tmp, "E.npy")},
		{"--out", filepath.Join(tmp, "E.npy"), "--labels", filepath.Join(tmp, "Y.csv")},
		{"--out", filepath.Join(tmp, "E.parquet"), "--labels", filepath.Join(tmp, "Y.csv")},
	} {
		code, _, stderr := runArgs(t, append([]string{"embed", "--run", run, "--data", flat}, args...)...)
		if code != exitFailure || !strings.Contains(stderr, "has no labels") || len(args) == 2 &&
			!strings.Contains(stderr, filepath.Join(tmp, "E.parquet")) {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	out := filepath.Join(tmp, "E.parquet")
	mustRun(t, "embed", "--run", run, "--data", flat, "--out", out)
	if got, err := cli.EmbeddingFormats().Read(out); err != nil || len(got.Files) != 6 {
		t.Errorf("%v, %v", got, err)
	}
	if raw := mustRun(t, "embed", "--run", run, "--data", flat, "--out", "-"); !strings.HasPrefix(raw, "\x93NUMPY") {
		t.Errorf("%.20q", raw)
	}
}

// A command that ended between its files goes on without being told to replace them, but
// not over what somebody wrote since.
func TestHalfAResultIsReplaced(t *testing.T) {
	run, _ := trainRun(t)
	for _, c := range []struct {
		first, last string
		args        []string
	}{
		{"suspects.csv", "review.html", []string{"clean", run}},
		{"kinds.csv", "review.html", []string{"discover", run, "--draws", "2"}},
		{"eval.json", "eval.md", []string{"eval", "--embeddings", filepath.Join(run, "embeddings.npy")}},
		{"map.csv", "map.html", []string{"map", "--embeddings", filepath.Join(run, "embeddings.npy"), "--method",
			"pca"}},
	} {
		whole, half := t.TempDir(), t.TempDir()
		mustRun(t, append(c.args, "--out", whole)...)
		want, err := os.ReadFile(filepath.Join(whole, c.first))
		if err != nil {
			t.Fatal(err)
		}
		first, last := filepath.Join(half, c.first), filepath.Join(half, c.last)
		writeBytes(t, filepath.Join(last, "x"), nil) // what cannot be replaced ends the command before its last file
		again := append(c.args, "--out", half)
		if code, _, stderr := runArgs(t, append(again, "--force")...); code != exitFailure {
			t.Fatalf("%v: status %d, %s", c.args, code, stderr)
		}
		if got, err := os.ReadFile(first); err != nil || string(got) != string(want) {
			t.Fatalf("%v did not leave half a result: %q, %v", c.args, got, err)
		}
		if err := os.Rename(last, filepath.Join(t.TempDir(), "x")); err != nil {
			t.Fatal(err)
		}
		writeBytes(t, first, []byte("mine"))
		code, _, stderr := runArgs(t, again...)
		if got, _ := os.ReadFile(first); code != exitFailure || !strings.Contains(stderr, "--force") ||
			string(got) != "mine" {
			t.Errorf("%v over what was written since: status %d, %s, %q", c.args, code, stderr, got)
		}
		writeBytes(t, first, want)
		if code, _, stderr := runArgs(t, again...); code != exitOK {
			t.Errorf("%v over half a result: status %d, %s", c.args, code, stderr)
		}
		code, _, stderr = runArgs(t, again...)
		if code != exitOK || !strings.Contains(stderr, "replacing results of the same command") {
			t.Errorf("%v over its own whole result: status %d, %s", c.args, code, stderr)
		}
		if code, _, stderr := runArgs(t, append(again, "--seed", "2")...); code != exitFailure {
			t.Errorf("%v over the result of another command: status %d, %s", c.args, code, stderr)
		}
	}
}
