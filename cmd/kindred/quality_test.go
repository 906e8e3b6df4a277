package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/inspect"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
)

// newNoise is a picture of noise up to a grey.
func newNoise(t *testing.T, w, h, most int, seed uint64) []byte {
	t.Helper()
	im := image.NewGray(image.Rect(0, 0, w, h))
	rng := rand.New(rand.NewPCG(seed, 6))
	for k := range im.Pix {
		im.Pix[k] = uint8(rng.IntN(most))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Photos with defects are told by data info and by clean, each as a column that an index
// takes and as a reason.
func TestQuality(t *testing.T) {
	dir := t.TempDir()
	for c := range 2 {
		for i := range 12 {
			writeBytes(t, filepath.Join(dir, fmt.Sprint("c", c), fmt.Sprint(i, ".png")),
				newNoise(t, 30, 24, 256, uint64(20*c+i)))
		}
	}
	writeBytes(t, filepath.Join(dir, "c0", "dark.png"), newNoise(t, 30, 24, 40, 100))
	writeBytes(t, filepath.Join(dir, "c1", "wide.png"), newNoise(t, 200, 20, 256, 101))
	home := t.TempDir()
	table := filepath.Join(home, "quality.csv")
	var info inspect.Report
	kindredJSON(t, &info, "data", "info", dir, "--quality-table", table)
	q := info.Images.Quality
	if q == nil || q.Counts["dark"] != 1 || q.Counts["shape"] != 1 || q.Counts["blurred"] != 0 || len(q.Photos) != 2 ||
		q.Photos[0].Name != "c0/dark.png" || !strings.HasPrefix(q.Photos[0].Reason, "dark: 95 % of it is below 15 %") {
		t.Fatalf("%+v", q)
	}
	if text := mustRun(t, "data", "info", dir, "--quality"); !strings.Contains(text, "quality: 0 blurred, 1 dark, "+
		"0 bright, 0 tiny, 1 shape, 0 screenshot; ") || !strings.Contains(text, "c1/wide.png  shape: 200 x 20 pixels") {
		t.Error(text)
	}
	if text := mustRun(t, "data", "info", dir); strings.Contains(text, "quality") {
		t.Error(text)
	}
	runDir, ix, out := filepath.Join(home, "run"), filepath.Join(home, "x.index"), filepath.Join(home, "suspects")
	mustRun(t, "train", "--data", dir, "--out", runDir, "--set", "data.split=images:0.3", "--set", "train.epochs=1",
		"--set", "network.name=mlp", "--set", "network.width=8")
	mustRun(t, "index", "create", "--run", runDir, "--data", dir, "--out", ix, "--columns", table)
	var got lookup.Results
	kindredJSON(t, &got, "index", "search", ix, "--id", "c0/1.png", "--neighbours", "30", "--filter",
		"defective and dark >= 0.5")
	if n := got.Queries[0].Neighbours; len(n) != 1 || n[0].ID != "c0/dark.png" {
		t.Errorf("%+v", n)
	}
	var found cleanResult
	kindredJSON(t, &found, "clean", runDir, "--out", out)
	if found.Quality["dark"] != 1 || found.Quality["shape"] != 1 {
		t.Errorf("%v", found.Quality)
	}
	rows, err := os.ReadFile(filepath.Join(out, "suspects.csv"))
	if err != nil || !strings.Contains(string(rows), "c0/dark.png,c0,,") ||
		!strings.Contains(string(rows), "dark: 95 %") {
		t.Errorf("%v\n%s", err, rows)
	}
	rows, err = os.ReadFile(filepath.Join(out, "quality.csv"))
	if head, _, _ := strings.Cut(string(rows), "\n"); err != nil || head !=
		"path,blurred,dark,bright,tiny,shape,screenshot,defective,burst,leak" ||
		strings.Count(string(rows), "\n") != 27 {
		t.Errorf("%v\n%s", err, rows)
	}
}
