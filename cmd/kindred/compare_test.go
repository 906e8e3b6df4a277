package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/page/report/comparereport"
	"github.com/kindred-ml/kindred/internal/sweep"
)

// TestCompare: the files are written, a second call repeats no run, and one seed more adds those of the seed.
func TestCompare(t *testing.T) {
	makeFeatureSet(t)
	const plan = `set:
  data: {path: features.npy}
  network: {name: linear, dim: 3}
  sample.batches: 2
  train.epochs: 1
  eval.recall: [1]
arms: [{name: triplet, set: {loss.name: triplet}}, {name: ms, set: {loss.name: multisimilarity}}]
seeds: 2
`
	writeBytes(t, "plan.yaml", []byte(plan))
	code, out, said := runArgs(t, "compare", "plan.yaml", "--out", "c")
	if code != exitOK || !strings.Contains(out, "undecided") || !strings.Contains(out, `set "seeds: 3" in plan.yaml`) ||
		!strings.Contains(said, "(4 of 4 runs)") {
		t.Fatalf("status %d, %s\n%s", code, out, said)
	}
	for _, name := range append([]string{sweep.ComparisonFile}, comparereport.Files...) {
		if _, err := os.Stat(filepath.Join("c", name)); err != nil {
			t.Error(err)
		}
	}
	writeBytes(t, "plan.yaml", []byte(strings.Replace(plan, "seeds: 2", "seeds: 3", 1)))
	history := filepath.Join("c", "runs", "ms", "seed1", "metrics.csv")
	before, err := os.Stat(history)
	if err != nil {
		t.Fatal(err)
	}
	code, out, said = runArgs(t, "compare", "plan.yaml", "--out", "c", "--json")
	var got sweep.Comparison
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || len(got.Arms) != 2 ||
		len(got.Arms[1].Runs) != 3 || len(got.Tests) != 1 {
		t.Errorf("status %d, %v, %s\n%s", code, err, out, said)
	}
	if after, err := os.Stat(history); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a finished run was repeated: %v", err)
	}
	for says, args := range map[string][]string{
		"missing --out":                {"compare", "plan.yaml"},
		"--jobs 0":                     {"compare", "plan.yaml", "--out", "d", "--jobs", "0"},
		`has no key "ranges"`:          {"compare", "search.yaml", "--out", "d"},
		"--workers applies to --queue": {"compare", "plan.yaml", "--out", "d", "--workers", "2"},
		"has results of another pla":   {"compare", "other.yaml", "--out", "c"},
	} {
		writeBytes(t, "search.yaml", []byte(plan+"ranges: {train.lr: [0.1, 0.2]}\n"))
		writeBytes(t, "other.yaml", []byte(strings.Replace(plan, "batches: 2", "batches: 3", 1)))
		if code, _, said := runArgs(t, args...); code == exitOK || !strings.Contains(said, says) {
			t.Errorf("%v: status %d, %s", args, code, said)
		}
	}
}
