package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/plan"
)

func TestPlan(t *testing.T) {
	out, _ := runProgram(t, "plan --vectors 1e6 --images 0")
	for _, want := range []string{"pgvector, HNSW", "Weaviate, HNSW", "not measured", "search among 64"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _ = runProgram(t, "plan --json --vectors 1e6 --dim 64")
	var r plan.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Load.Dim != 64 || len(r.Constants) == 0 ||
		r.Constants[0].Command == "" {
		t.Errorf("%v: %s", err, out)
	}
	for line, want := range map[string]string{"--vectors NaN": "--vectors NaN", "--queries -1": "--queries -1",
		"--cores 0": "--cores 0", "--network x": `--network "x"`, "--memory-of-a-machine much": "--memory-of-a-machine",
		"--memory-of-a-machine 1MiB": "--memory-of-a-machine 1.048576e+06", "--images 1e400": "--images"} {
		code, _, errOut := runArgs(t, append([]string{"plan"}, strings.Fields(line)...)...)
		if code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: status %d: %s", line, code, errOut)
		}
	}
}
