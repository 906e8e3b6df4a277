package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
)

// embed writes labels beside the embeddings, and every command that takes
// embeddings takes what it wrote.
func TestEmbedWritesLabelsBeside(t *testing.T) {
	dir, tmp := writePhotos(t), t.TempDir()
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
		!strings.HasPrefix(string(text), "path,label,digest\nc0/0.png,c0,") {
		t.Fatalf("%v: %s", err, text)
	}
	if a, b := must("eval", "--embeddings", out, "--labels", labels), must("eval", "--embeddings", out); a != b {
		t.Errorf("labels by name and beside differ:\n%s\n%s", a, b)
	}
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

	// Another name; and one file where one holds everything.
	other := filepath.Join(tmp, "other.csv")
	must("embed", "--run", run, "--data", dir, "--out", filepath.Join(tmp, "F.npy"), "--labels", other)
	must("embed", "--run", run, "--data", dir, "--out", filepath.Join(tmp, "G.npz"))
	for name, want := range map[string]bool{"other.csv": true, "F.labels.csv": false, "G.npz": true,
		"G.labels.csv": false} {
		if _, err := os.Stat(filepath.Join(tmp, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The file holds what its name says, whatever the format, and all say the same; a
// name that says nothing known is refused before anything is computed.
func TestEmbedWritesWhatTheNameSays(t *testing.T) {
	dir, tmp := writePhotos(t), t.TempDir()
	run := filepath.Join(tmp, "run")
	code, _, stderr := runArgs(t, "train", "--data", dir, "--out", run, "--set", "data.split=images:0.3", "--set",
		"train.epochs=1", "--set", "network.name=mlp", "--set", "network.width=8")
	if code != exitOK {
		t.Fatal(stderr)
	}
	var want *embedding.Table
	for _, name := range []string{"E.npy", "E.npz", "E.safetensors", "E.csv", "E.Parquet"} {
		out := filepath.Join(tmp, name)
		if code, _, stderr := runArgs(t, "embed", "--run", run, "--data", dir, "--out", out); code != exitOK {
			t.Fatalf("%s: status %d\n%s", name, code, stderr)
		}
		got, err := cli.EmbeddingFormats().Load(out, "", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got.X.Data, want.X.Data) || len(got.Files) != 18 || !slices.Equal(got.Files, want.Files) ||
			!slices.Equal(got.Columns[0].Text, want.Columns[0].Text) || len(got.Columns) != 1 {
			t.Errorf("%s holds %v %v", name, got.Files, got.Columns)
		}
		if (got.ID == nil) != (name == "E.npy") || got.ID != nil && (got.ID.At(0) != got.Files[0] ||
			got.ID.At(17) != got.Files[17]) {
			t.Errorf("%s: identities %v", name, got.ID)
		}
		if _, err := os.Stat(filepath.Join(tmp, "E.labels.csv")); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		if code, _, stderr := runArgs(t, "eval", "--embeddings", out); code != exitOK {
			t.Errorf("eval %s: %s", name, stderr)
		}
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{`the extension ".txt" is not one of .npy, .npz, .safetensors, .csv, .parquet`, []string{"--out", "E.txt"}},
		{`the extension "" is not one of`, []string{"--out", filepath.Join(tmp, "raw")}},
		{"a .npy file holds no paths", []string{"--out", "E.npy", "--labels", "Y.npy"}},
		{`the extension ".txt"`, []string{"--out", "E.npy", "--labels", "Y.txt"}},
	} {
		// The run is looked for later: what is wrong with the name comes first.
		args := append([]string{"embed", "--run", filepath.Join(tmp, "none"), "--data", dir}, c.args...)
		if code, _, stderr := runArgs(t, args...); code != exitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: status %d, %s", c.args, code, stderr)
		}
	}
}

// embed takes folders without classes, single files and lists of files.
func TestEmbedWithoutLabels(t *testing.T) {
	dir, tmp := writePhotos(t), t.TempDir()
	runProgram(t, "train --data "+dir+" --out "+tmp+"/run --set train.epochs=1 --set network.name=mlp --set "+
		"network.width=8 --set data.split=images:0.3")
	one := filepath.Join(dir, "c0")
	files, err := filepath.Glob(filepath.Join(one, "*.png"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	rows := func(what, list string) int {
		t.Helper()
		out := filepath.Join(tmp, "E.csv")
		var errOut strings.Builder
		cmd := newRoot(&console.Console{Out: io.Discard, Err: &errOut, Raw: io.Discard})
		cmd.SetIn(strings.NewReader(list))
		cmd.SetArgs([]string{"embed", "--run", tmp + "/run", "--data", what, "--out", out, "--force"})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, errOut.String())
		}
		table, err := embedding.Read(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range table.Columns {
			if c.Name == "label" {
				t.Errorf("%s: labels from nowhere: %+v", what, c)
			}
		}
		return table.X.Rows
	}
	if n := rows(one, ""); n != len(files) {
		t.Errorf("a flat folder: %d rows of %d files", n, len(files))
	}
	if n := rows(files[0], ""); n != 1 {
		t.Errorf("a file: %d rows", n)
	}
	if n := rows("-", strings.Join(files[:2], "\n")+"\n"); n != 2 {
		t.Errorf("a list of two: %d rows", n)
	}
}
