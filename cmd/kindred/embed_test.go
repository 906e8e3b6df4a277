package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// embed writes labels beside the embeddings, and every command that takes
// embeddings takes what it wrote.
func TestEmbedWritesLabelsBeside(t *testing.T) {
	dir, tmp := photos(t), t.TempDir()
	run, out := filepath.Join(tmp, "run"), filepath.Join(tmp, "E.npy")
	must := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := runArgs(t, args...)
		if code != exitOK {
			t.Fatalf("%v: status %d\n%s", args, code, stderr)
		}
		return stdout
	}
	small := []string{"--set", "train.epochs=1", "--set", "network.name=mlp", "--set", "network.width=8"}
	must(append([]string{"train", "--data", dir, "--out", run, "--set", "data.split=images:0.3"}, small...)...)
	says := must("embed", "--run", run, "--data", dir, "--out", out)
	labels := filepath.Join(tmp, "E.labels.csv")
	if !strings.Contains(says, labels) {
		t.Errorf("embed does not say where the labels are: %s", says)
	}
	text, err := os.ReadFile(labels)
	if err != nil || strings.Count(string(text), "\n") != 19 ||
		!strings.HasPrefix(string(text), "path,label,coarse\nc0/0.png,c0,c0\n") {
		t.Fatalf("%v: %s", err, text)
	}
	must("eval", "--embeddings", out, "--labels", labels)
	must("map", "--embeddings", out, "--labels", labels, "--method", "pca", "--out", filepath.Join(tmp, "map"))
	// finds the labels itself
	must(append([]string{"train", "--data", out, "--out", filepath.Join(tmp, "again"), "--set",
		"data.split=images:0.3"}, small...)...)
	var byFlag, byArgument any
	for v, args := range map[*any][]string{
		&byFlag:     {"diagnose", "--embeddings", out, "--labels", labels, "--json"},
		&byArgument: {"diagnose", out, "--labels", labels, "--json"},
	} {
		if err := json.Unmarshal([]byte(must(args...)), v); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := json.Marshal(byFlag)
	b, _ := json.Marshal(byArgument)
	if string(a) != string(b) {
		t.Errorf("--embeddings and the argument differ:\n%s\n%s", a, b)
	}

	// Another name, and no second file for what is no .npy.
	other := filepath.Join(tmp, "other.csv")
	must("embed", "--run", run, "--data", dir, "--out", filepath.Join(tmp, "F.npy"), "--labels", other)
	must("embed", "--run", run, "--data", dir, "--out", filepath.Join(tmp, "raw"))
	for name, want := range map[string]bool{"other.csv": true, "F.labels.csv": false, "raw": true,
		"raw.labels.csv": false} {
		if _, err := os.Stat(filepath.Join(tmp, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
