package main

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNeighbours(t *testing.T) {
	dir := t.TempDir()
	csv := "path,embedding_0,label\n"
	for i := range 12 {
		class := [2]string{"cat", "dog"}[i%2]
		name := filepath.Join(class, fmt.Sprintf("%02d.png", i))
		csv += fmt.Sprintf("%s,%d,%s\n", filepath.ToSlash(name), i%2*5+i/6, class)
		im := image.NewNRGBA(image.Rect(0, 0, 9, 6))
		im.SetNRGBA(1, 1, color.NRGBA{uint8(20 * i), 0, 90, 255})
		if err := os.MkdirAll(filepath.Join(dir, "set", class), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, "set", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, im); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e := filepath.Join(dir, "e.csv")
	if err := os.WriteFile(e, []byte(csv), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	code, stdout, stderr := runArgs(t, "neighbours", "--embeddings", e, "--data", filepath.Join(dir, "set"),
		"--queries", "3", "--neighbours", "4", "--out", out, "--json")
	if code != exitOK {
		t.Fatalf("status %d: %s", code, stderr)
	}
	var res neighboursResult
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatal(err)
	}
	if len(res.Random) != 3 || len(res.Worst) != 3 || len(res.Files) != 3 || res.Worst[0].FirstRight != 1 {
		t.Errorf("%+v", res)
	}
	checkNamed(t, append(res.Random, res.Worst...))
	if !strings.Contains(stdout, `"first_right": 1`) || !strings.Contains(stdout, `"path": "cat/`) {
		t.Errorf("%s", stdout)
	}
	page, err := os.ReadFile(filepath.Join(out, "neighbours.html"))
	if n := strings.Count(string(page), "<img "); err != nil || n != 2*3*5 {
		t.Errorf("%d thumbnails, want 30 (%v)", n, err)
	}
	if code, stdout, _ = runArgs(t, "neighbours", "--embeddings", e, "--out", out, "--force"); code != exitOK ||
		!strings.Contains(stdout, "worst.png") {
		t.Errorf("without pictures: status %d, %q", code, stdout)
	}
	bare := filepath.Join(dir, "bare.csv")
	if err := os.WriteFile(bare, []byte("embedding_0,label\n1,1\n2,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	strange := filepath.Join(dir, "strange.csv")
	if err := os.WriteFile(strange, []byte("path,embedding_0,label\nx,1,1\ny,2,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "--embeddings", []string{"--out", out, "--force"}},
		{exitUsage, "--out", []string{"--embeddings", e}},
		{exitUsage, "--queries 0", []string{"--embeddings", e, "--out", out, "--force", "--queries", "0"}},
		{exitUsage, "hamming", []string{"--embeddings", e, "--out", out, "--force", "--distance", "hamming"}},
		{exitFailure, "column path",
			[]string{"--embeddings", bare, "--out", out, "--force", "--data", filepath.Join(dir, "set")}},
		{exitFailure, `no item called "`,
			[]string{"--embeddings", strange, "--out", out, "--force", "--data", filepath.Join(dir, "set")}},
	} {
		code, _, stderr := runArgs(t, append([]string{"neighbours"}, tc.args...)...)
		if code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("%v: status %d, %q; want %d, %q", tc.args, code, stderr, tc.code, tc.says)
		}
	}
}

// checkNamed holds names against rows and labels, which the names contain.
func checkNamed(t *testing.T, queries []queryItems) {
	t.Helper()
	row := func(path string) (row int) {
		if _, err := fmt.Sscanf(path[4:], "%02d.png", &row); err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		return row
	}
	for _, q := range queries {
		if row(q.Path) != q.Row || q.Label != q.Path[:3] || len(q.Neighbours) != 4 {
			t.Errorf("query %+v", q)
		}
		last := 0.0
		for _, n := range q.Neighbours {
			if row(n.Path) != n.Row || n.Row == q.Row || n.Label != n.Path[:3] || n.Right != (n.Label == q.Label) ||
				n.Distance < last {
				t.Errorf("%s has the neighbour %+v", q.Path, n)
			}
			last = n.Distance
		}
	}
}
