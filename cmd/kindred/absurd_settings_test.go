package main

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No setting ends in the Go runtime's words about memory: those that make no
// sense are mistakes in the call, those that are too large name the figure.
func TestAbsurdSettings(t *testing.T) {
	dir := t.TempDir()
	e := filepath.Join(dir, "e.csv")
	if err := os.WriteFile(e, []byte("embedding_0,embedding_1,label\n1,0,a\n0.9,0.1,a\n0,1,b\n0.1,0.9,b\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"eval --embeddings E --bootstrap 1000000000 --metrics recall@1,mrr", exitFailure,
			"1000000000 resamples of 2 metrics: needs 29.8 GiB, the limit is 1 GiB: raise --memory"},
		{"eval --embeddings E --worst 1000000000 --metrics recall@1", exitOK, ""},
		{"eval --embeddings E --metrics recall@1000000000000", exitOK, ""},
		{"eval --embeddings E --metrics recall@1..1000000000", exitUsage, "at most 10000 long"},
		{"eval --embeddings E --scratch 0", exitUsage, "--scratch 0: want at least 1 MiB"},
		{"loss --embeddings E --loss softtriple --set centers=1000000000", exitUsage,
			"proxies of 2 classes, 1000000000 for each: needs 29.8 GiB, the limit is 1 GiB"},
		{"loss --embeddings E --set memory=2000000000", exitOK, ""},
		{"neighbours --embeddings E --queries 0 --out D", exitUsage, "--queries 0"},
		{"neighbours --embeddings E --queries 1000000000 --neighbours 1000000000 --out D", exitOK, ""},
		{"theory noise --dim 1000000000", exitFailure,
			"--dim 1000000000, --restarts 4, --draws 4000: needs 1.05 TiB, the limit is 1 GiB"},
		{"theory noise --restarts 1000000000000", exitFailure, "the limit is 1 GiB"},
		{"theory noise --draws 1000000000000", exitFailure, "the limit is 1 GiB"},
		{"data info D --sheet S --rows -1", exitUsage, "--rows -1, --cols 10: want at least 1"},
		{"data info D --sheet S --cols 0", exitUsage, "--rows 20, --cols 0: want at least 1"},
	} {
		args := strings.Fields(c.args)
		for i, a := range args {
			switch a {
			case "E":
				args[i] = e
			case "D":
				args[i] = dir
			case "S":
				args[i] = filepath.Join(dir, "sheet.png")
			}
		}
		code, _, errOut := runArgs(t, append(args, "--memory", "1GiB")...)
		if code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: status %d, stderr %q; want %d and %q", c.args, code, errOut, c.code, c.says)
		}
	}
}

// A sheet is as wide as the largest class on it, however many columns are asked
// for.
func TestSheetIsAsWideAsItsLargestClass(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.png", "a/2.png", "b/1.png"} {
		path := filepath.Join(dir, "set", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	sheet := filepath.Join(dir, "sheet.png")
	width := func(cols string) int {
		t.Helper()
		if code, _, errOut := runArgs(t, "data", "info", filepath.Join(dir, "set"), "--sheet", sheet, "--force",
			"--cols", cols); code != exitOK {
			t.Fatalf("--cols %s: %s", cols, errOut)
		}
		f, err := os.Open(sheet)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		im, err := png.DecodeConfig(f)
		if err != nil {
			t.Fatal(err)
		}
		return im.Width
	}
	if one, two, many := width("1"), width("2"), width("100000000"); many != two || one >= two {
		t.Errorf("%d pixels wide for one column, %d for two, %d for 100 million", one, two, many)
	}
}
