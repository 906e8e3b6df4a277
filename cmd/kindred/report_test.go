package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
)

func writeRun(t *testing.T, dir, positives string, seed int, cols int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	labels := "label\n"
	x := matrix.New(12, cols)
	for i := range 12 {
		labels += fmt.Sprintln(i % 3)
		for j := range cols {
			x.Row(i)[j] = float32(i%3*5 + j)
		}
	}
	var npy strings.Builder
	if err := embedding.WriteNPY(&npy, x); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.yaml":    fmt.Sprintf("mine: {positives: %s}\ntrain: {seed: %d}\n", positives, seed),
		"metrics.csv":    fmt.Sprintf("epoch,loss,tuples,active,test_recall@1\n1,0.5,10,5,0.%d\n", 40+seed),
		"labels.csv":     labels,
		"embeddings.npy": npy.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	writeRun(t, a, "easy", 1, 2)
	writeRun(t, b, "easy", 2, 2)
	writeRun(t, c, "random", 1, 5)
	out := filepath.Join(dir, "out")
	code, stdout, stderr := runArgs(t, "report", a, b, c, "--out", out, "--json")
	if code != exitOK {
		t.Fatalf("status %d: %s", code, stderr)
	}
	var res reportResult
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("%v in %q", err, stdout)
	}
	if len(res.Groups) != 2 || len(res.Groups[0].Runs) != 2 || len(res.Groups[0].Metrics["test_recall@1"]) != 2 ||
		res.Differ[0] != "mine.positives" {
		t.Errorf("%+v", res)
	}
	page, err := os.ReadFile(res.Page)
	if err != nil || strings.Count(string(page), "<svg xmlns") != 3 ||
		strings.Count(string(page), `class="map"`) != 2 {
		t.Errorf("page: %v, %d figures and %d maps, want Recall@1, loss, active tuples and two maps", err,
			strings.Count(string(page), "<svg xmlns"), strings.Count(string(page), `class="map"`))
	}
	code, stdout, stderr = runArgs(t, "report", a, b, c, "--out", out, "--force", "--name", b+"=Easy",
		"--name", c+"=By chance")
	if code != exitOK || !strings.Contains(stdout, "Easy ") || !strings.Contains(stdout, "By chance ") {
		t.Errorf("status %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr = runArgs(t, "report", a, "--out", out, "--force", "--name", "b=Easy"); code != exitFailure ||
		!strings.Contains(stderr, `--name "b=Easy": want RUN=NAME`) {
		t.Errorf("status %d, %q", code, stderr)
	}
	code, stdout, _ = runArgs(t, "report", c, "--out", out, "--force")
	if code != exitOK || !strings.Contains(stdout, "41.0") {
		t.Errorf("status %d, %q", code, stdout)
	}
	if code, _, stderr = runArgs(t, "report"); code != exitUsage || !strings.Contains(stderr, "RUN") {
		t.Errorf("status %d, %q", code, stderr)
	}
	if code, _, stderr = runArgs(t, "report", dir, "--out", out, "--force"); code != exitFailure ||
		!strings.Contains(stderr, "config.yaml") {
		t.Errorf("status %d, %q", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(c, "embeddings.npy"), []byte("broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, _ = runArgs(t, "report", c, "--out", out, "--force"); code != exitFailure {
		t.Errorf("broken embeddings: status %d", code)
	}
}
