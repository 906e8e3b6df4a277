package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMap(t *testing.T) {
	dir := t.TempDir()
	csv := filepath.Join(dir, "e.csv")
	var b strings.Builder
	b.WriteString("embedding_0,embedding_1,embedding_2,label\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%d,%d,%d,%s\n", i%2*10, i%5, i%3, [2]string{"cat", "<dog>"}[i%2])
	}
	if err := os.WriteFile(csv, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain.csv")
	writeBytes(t, plain, []byte("embedding_0,embedding_1\n1,2\n3,4\n5,7\n"))
	if code, _, stderr := runArgs(t, "map", "--embeddings", plain, "--columns", "label", "--method", "pca",
		"--out", filepath.Join(dir, "o")); code != exitFailure || !strings.Contains(stderr, "holds no labels") {
		t.Errorf("columns of no labels: status %d, %s", code, stderr)
	}
	for _, method := range []string{"pca", "tsne", "tsne-exact"} {
		out := filepath.Join(dir, method)
		args := []string{"map", "--embeddings", csv, "--method", method, "--out", out, "--json"}
		if method != "pca" {
			args = append(args, "--iterations", "50")
		}
		code, stdout, stderr := runArgs(t, args...)
		if code != exitOK {
			t.Fatalf("%s: status %d: %s", method, code, stderr)
		}
		var res mapResult
		if err := json.Unmarshal([]byte(stdout), &res); err != nil {
			t.Fatalf("%s: %v in %q", method, err, stdout)
		}
		if res.Rows != 40 || res.Dimensions != 3 || len(res.Files) != 4 || res.KL != nil == (method == "pca") {
			t.Errorf("%s: %+v", method, res)
		}
		page, err := os.ReadFile(filepath.Join(out, "map.html"))
		if err != nil || !strings.Contains(string(page), `\u003cdog\u003e`) || strings.Contains(string(page), "<dog>") {
			t.Errorf("%s: page lacks the label or does not escape it (%v)", method, err)
		}
		rows, err := os.ReadFile(filepath.Join(out, "map.csv"))
		if err != nil || strings.Count(string(rows), "\n") != 41 || !strings.HasPrefix(string(rows), "x,y,label,id\n") {
			t.Errorf("%s: map.csv: %v %.40q", method, err, rows)
		}
	}
	out := filepath.Join(dir, "sampled")
	code, stdout, stderr := runArgs(t, "map", "--embeddings", csv, "--sample", "20", "--iterations", "50", "--out", out)
	if code != exitOK || !strings.Contains(stdout, "a sample of 20 rows") {
		t.Errorf("a sample: status %d, %q, %s", code, stdout, stderr)
	}
	if rows, err := os.ReadFile(filepath.Join(out, "map.csv")); err != nil || strings.Count(string(rows), "\n") != 41 {
		t.Errorf("a sample: map.csv: %v", err)
	}
	for _, tc := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "missing --embeddings", []string{"--out", dir}},
		{exitUsage, "missing --out", []string{"--embeddings", csv}},
		{exitUsage, `--method "umap"`, []string{"--embeddings", csv, "--out", dir, "--method", "umap"}},
		{exitUsage, "--sample 0", []string{"--embeddings", csv, "--out", dir, "--sample", "0"}},
		{exitFailure, "perplexity 40 with 40 rows", []string{"--embeddings", csv, "--out", dir, "--perplexity", "40"}},
		{exitFailure, "none.npy", []string{"--embeddings", filepath.Join(dir, "none.npy"), "--out", dir}},
	} {
		code, _, stderr := runArgs(t, append([]string{"map"}, tc.args...)...)
		if code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("%v: status %d, %q; want %d, %q", tc.args, code, stderr, tc.code, tc.says)
		}
	}
}
