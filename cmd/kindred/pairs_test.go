package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writePeople writes photos of three persons on a line, named as LFW names them.
func writePeople(t *testing.T) (embeddings string, write func(text string) string) {
	t.Helper()
	dir := t.TempDir()
	text := "path,embedding_0\n"
	for _, line := range []string{"lfw/Ann/Ann_0001.jpg,0", "lfw/Ann/Ann_0002.jpg,1", "lfw/Bob/Bob_0001.jpg,5",
		"lfw/Bob/Bob_0002.jpg,6.5", "lfw/Cem/Cem_0001.jpg,20", "x/Twice.jpg,1", "y/Twice.jpg,2"} {
		text += line + "\n"
	}
	write = func(text string) string {
		path := filepath.Join(dir, "list")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	embeddings = filepath.Join(dir, "e.csv")
	if err := os.WriteFile(embeddings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return embeddings, write
}

const lfwPairs = "2\t1\nAnn\t1\t2\nAnn\t1\tBob\t1\nBob\t1\t2\nBob\t2\tCem\t1\n"

// LFW's list needs no labels: it says itself what is the same.
func TestEvalPairs(t *testing.T) {
	e, write := writePeople(t)
	list, dir := write(lfwPairs), t.TempDir()
	var out, errOut bytes.Buffer
	code := execute(context.Background(), []string{"eval", "--embeddings", e, "--pairs", list, "--json", "--out", dir},
		&out, &errOut)
	var doc struct {
		Metrics   map[string]float64
		Decisions struct{ Genuine, Impostor int }
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || code != exitOK {
		t.Fatalf("status %d, %v: %s%s", code, err, out.String(), errOut.String())
	}
	// The threshold of the first fold, 1, is too low for Bob; that of the second, 1.5, suits Ann.
	if doc.Metrics["accuracy"] != 0.75 || doc.Metrics["auc"] != 1 || doc.Metrics["eer"] != 0 ||
		doc.Decisions.Genuine != 2 || doc.Decisions.Impostor != 2 {
		t.Errorf("%s", out.String())
	}
	page, err := os.ReadFile(filepath.Join(dir, "eval.html"))
	if err != nil || !bytes.Contains(page, []byte("DET")) || !bytes.Contains(page, []byte("fnmr@fmr=0.01")) {
		t.Errorf("the page: %v", err)
	}
}

// LFW's lists for development have one part: without --metrics there is no accuracy, and with it an error.
func TestEvalPairsOfOnePart(t *testing.T) {
	e, write := writePeople(t)
	for _, list := range []string{"2\nAnn\t1\t2\nBob\t1\t2\nAnn\t1\tBob\t1\nBob\t2\tCem\t1\n",
		"Ann_0001,Ann_0002,same,0\nBob_0002,Cem_0001,different,0\n"} {
		args := []string{"eval", "--embeddings", e, "--pairs", write(list), "--format", "csv"}
		code, out, errOut := runArgs(t, args...)
		if code != exitOK || strings.Contains(out, "accuracy") || !strings.Contains(out, "eer") ||
			!strings.Contains(errOut, "note: the list has one part, so accuracy is left out") {
			t.Errorf("status %d: %s%s", code, out, errOut)
		}
		code, _, errOut = runArgs(t, append(args, "--metrics", "accuracy")...)
		if code != exitFailure || !strings.Contains(errOut, "two folds or more") {
			t.Errorf("status %d: %s", code, errOut)
		}
	}
}

// A list that does not fit names its file, the line and the item.
func TestEvalPairsRefused(t *testing.T) {
	e, write := writePeople(t)
	for _, c := range []struct {
		list, want string
		more       []string
	}{
		{"lfw/Ann/Ann_0001.jpg,Nobody,same\n", "list:1: no item is called \"Nobody\" by its path or file name", nil},
		{"Ann_0001,Bob_0001,0\nAnn_0002,Twice,same\n", "list:2: several items have the file name \"Twice\"", nil},
		{"Ann_0001,Ann_0002,similar\n", "list:1: \"similar\"", nil},
		{lfwPairs, "the list replaces a gallery", []string{"--gallery", e}},
		{lfwPairs, "holds no labels", []string{"--metrics", "eer,recall@1"}},
	} {
		args := append([]string{"eval", "--embeddings", e, "--pairs", write(c.list)}, c.more...)
		var out, errOut bytes.Buffer
		if code := execute(context.Background(), args, &out, &errOut); code == exitOK ||
			!strings.Contains(errOut.String(), c.want) {
			t.Errorf("%v: status %d, %s, want %q", c.more, code, errOut.String(), c.want)
		}
	}
}

// Without a list the decisions are about all pairs; the page has them by each column.
func TestEvalDecisions(t *testing.T) {
	path, dir := writeEmbeddingsCSV(t), t.TempDir()
	var out, errOut bytes.Buffer
	code := execute(context.Background(), []string{"eval", "--embeddings", path, "--metrics",
		"eer,fnmr@fmr=1e-2,recall@1", "--bootstrap", "20", "--out", dir}, &out, &errOut)
	if code != exitOK || !strings.Contains(out.String(), "label: thresholds") ||
		!strings.Contains(out.String(), "380 genuine and 400 impostor pairs") {
		t.Errorf("status %d: %s%s", code, out.String(), errOut.String())
	}
	page, err := os.ReadFile(filepath.Join(dir, "eval.html"))
	if err != nil || !bytes.Contains(page, []byte("By fine")) {
		t.Errorf("the page: %v", err)
	}
	out.Reset()
	if code := execute(context.Background(), []string{"eval", "--embeddings", path, "--metrics", "recall@1", "--out",
		t.TempDir()}, &out, &errOut); code != exitOK {
		t.Errorf("status %d: %s", code, errOut.String())
	}
}
