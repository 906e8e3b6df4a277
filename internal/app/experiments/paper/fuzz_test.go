package paper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/run"
)

// FuzzResult reads the kept result of a run; a result that is read is written and read again
// without a change.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"arm":"a","seed":1,"folder":"runs/a","history":[{"epoch":1,"steps":2}],"params":3}`))
	f.Add([]byte(`{"history":[{}]}`))
	f.Add([]byte(`{"history":[]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), resultFile)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := readRun(path)
		if err != nil {
			return
		}
		if len(r.History) == 0 {
			t.Fatal("a run without an epoch was read")
		}
		if err := writeJSON(path, r); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := readRun(path)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		a, _ := json.Marshal(r)
		b, _ := json.Marshal(again)
		if string(a) != string(b) {
			t.Fatalf("%s became %s", a, b)
		}
	})
}

// FuzzPlan compares kept plans with the plan of the default settings.
func FuzzPlan(f *testing.F) {
	d := run.Default()
	plan := string(d.YAML())
	f.Add([]byte(plan))
	f.Add([]byte(""))
	f.Add([]byte("\ufefftrain: {epochs: 10}\r\n"))
	f.Add([]byte("train: {epochs: 3}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, kept []byte) {
		if !samePlan(kept, plan) {
			return
		}
		cfg, err := run.Parse(planFile, kept)
		if err != nil || string(cfg.YAML()) != plan {
			t.Fatalf("%q counts as the plan of the default settings (%v)", kept, err)
		}
	})
}
