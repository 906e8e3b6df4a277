package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApplyDecisions: the decisions that a server has kept beside a page become a script, or changes of an index, and
// flags that do not apply are refused.
func TestApplyDecisions(t *testing.T) {
	run, dir := trainRun(t)
	tmp := t.TempDir()
	e, page := filepath.Join(tmp, "E.parquet"), filepath.Join(tmp, "suspects")
	mustRun(t, "embed", run, dir, "--out", e)
	mustRun(t, "clean", e, "--data", dir, "--least", "0.0001", "--out", page)
	script := filepath.Join(tmp, "moves.sh")
	if out := mustRun(t, "apply", page, "--script", script); !strings.Contains(out, "0 moves") {
		t.Errorf("without decisions: %s", out)
	}
	text, err := os.ReadFile(script)
	if err != nil || !strings.HasPrefix(string(text), "#!/bin/sh\n") {
		t.Errorf("%s, %v", text, err)
	}
	for want, args := range map[string][]string{"give --script": {page},
		"--prefix does not apply": {page, "--script", script, "--prefix", "x"},
		"no such file":            {tmp, "--script", script}} {
		if code, _, stderr := runArgs(t, append([]string{"apply"}, args...)...); code == exitOK ||
			!strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
}
