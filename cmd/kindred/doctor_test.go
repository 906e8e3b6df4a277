package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/doctor"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
)

func TestDoctor(t *testing.T) {
	home := t.TempDir()
	t.Setenv("KINDRED_DATA", filepath.Join(home, "data"))
	t.Setenv("KINDRED_WEIGHTS", filepath.Join(home, "weights"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv(queues.SecretEnv, "open sesame")
	if err := os.MkdirAll(filepath.Join(home, "data", "shoes"), 0o777); err != nil {
		t.Fatal(err)
	}
	out, _ := runProgram(t, "doctor --json")
	var h doctor.Report
	if err := json.Unmarshal([]byte(out), &h); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(h.Sets, "shoes") || len(h.Weights) != 0 || h.WeightsDir != filepath.Join(home, "weights") ||
		h.Cores != runtime.NumCPU() || h.Memory <= 0 || h.Go != runtime.Version() || len(h.Caches) != 2 {
		t.Errorf("%+v", h)
	}
	text, _ := runProgram(t, "doctor")
	for _, want := range []string{"kernels ", "bfloat16 ", "shoes", "none yet", "KINDRED_DATA=" + home,
		queues.SecretEnv + "=(set)"} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text+out, "sesame") {
		t.Error("doctor tells a secret")
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 1 {
		t.Errorf("doctor made folders: %v, %v", entries, err)
	}
}

// Without a command kindred says how to begin, not all that it can do.
func TestFirstSteps(t *testing.T) {
	out, _ := runProgram(t, "")
	if strings.Count(out, "\n  kindred ") != 3 || strings.Count(out, "\n") > 12 {
		t.Errorf("%s", out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("a line of %d columns: %q", len(line)-1, line)
		}
	}
}
