package shards

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/jobs"
)

// fixedResults are results that a queue has.
type fixedResults struct {
	outputs [][]byte
	failed  error
}

func (r fixedResults) Run(context.Context, []jobs.Job) ([]jobs.Result, error) {
	var results []jobs.Result
	for _, out := range r.outputs {
		results = append(results, jobs.Result{Output: out})
	}
	return results, r.failed
}

func (fixedResults) Forget(context.Context, []jobs.Job) error { return nil }

// TestPlaced: run folders that workers return are put in their places, also where
// another run has failed, and a damaged one is not.
func TestPlaced(t *testing.T) {
	const result = `{"arm":"MS","seed":1,"history":[{}]}`
	run := t.TempDir()
	writeFile(t, filepath.Join(run, "result.json"), result)
	writeFile(t, filepath.Join(run, "plan.yaml"), "train: {}\n")
	var archive bytes.Buffer
	if err := pack(&archive, run); err != nil {
		t.Fatal(err)
	}
	var list []jobs.Job
	for seed := range uint64(2) {
		j, err := jobs.New(paper.Kind, paper.Job{Experiment: "omniglot", Arm: "MS", Seed: 1 + seed})
		if err != nil {
			t.Fatal(err)
		}
		j.Title = "MS"
		list = append(list, j)
	}
	lost := errors.New("ten workers are lost")
	dir := t.TempDir()
	results, err := ExperimentRunner{fixedResults{[][]byte{archive.Bytes(), nil}, lost}, dir}.Run(t.Context(), list)
	if !errors.Is(err, lost) || len(results) != 2 || string(results[0].Output) != result || results[1].Output != nil {
		t.Errorf("%v, %v", results, err)
	}
	placed := filepath.Join(dir, paper.RunFolder("MS", 1))
	if text, err := os.ReadFile(filepath.Join(placed, "plan.yaml")); err != nil || string(text) != "train: {}\n" {
		t.Errorf("%q, %v", text, err)
	}
	dir = t.TempDir()
	for _, bad := range [][]byte{{}, archive.Bytes()[:archive.Len()/2], []byte("no archive")} {
		_, err := ExperimentRunner{fixedResults{[][]byte{bad}, nil}, dir}.Run(t.Context(), list[:1])
		if err == nil || !strings.Contains(err.Error(), "MS: ") {
			t.Errorf("%v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, paper.RunFolder("MS", 1))); err == nil {
			t.Error("a damaged run is in its place")
		}
	}
}
