package sweep

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/run"
)

// TestMutations changes what a sweep keeps, and what a worker answers.
func TestMutations(t *testing.T) {
	dir := resultCache{dir: t.TempDir()}
	cfg, err := run.Parse("", []byte("train:\n  lr: 0.5\n"))
	if err != nil {
		t.Fatal(err)
	}
	job, err := Job{"ms/0001/fold1", string(cfg.YAML()), 2, "test_recall@1"}.job()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir.dir, "jobs", "ms", "0001", "fold1-epoch2.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	result, err := json.Marshal(Result{Epochs: 2, Scores: []Score{{1, 0.25}, {2, 0.5}},
		Metrics: map[string]float64{"test_recall@1": 0.5}, Seconds: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := ParsePlan("p.yaml", []byte("set: {train.epochs: 4}\n"+
		"ranges:\n  train.lr: {low: 0.0001, high: 0.1, log: true}\n"+
		"arms:\n  - {name: Triplet, set: {loss.name: triplet}}\ntrials: 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{plan: plan, o: Options{Dir: t.TempDir()}}
	mutations.Try(t,
		mutations.Reader{Name: "plan of a sweep", Valid: []string{string(kept)}, Read: func(text []byte) error {
			if err := os.WriteFile(filepath.Join(s.o.Dir, planFile), text, 0o666); err != nil {
				t.Fatal(err)
			}
			return s.open()
		}},
		mutations.Reader{Name: "state of a sweep", Valid: []string{savedJob}, Read: func(text []byte) error {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := (&dataCheck{dir: dir.dir}).read(); err != nil {
				return err
			}
			_, err := dir.Load(job)
			return err
		}},
		mutations.Reader{Name: "data of a sweep",
			Valid: []string{`{"samples":12,"names":"a1","labels":"b2","split":"c3"}`},
			Read: func(text []byte) error {
				if err := os.WriteFile(dataFile(dir.dir), text, 0o666); err != nil {
					t.Fatal(err)
				}
				if readDataFingerprint(dir.dir) == nil {
					return errors.New("no fingerprint of data")
				}
				return nil
			}},
		mutations.Reader{Name: "result of a job", Valid: []string{string(result)}, Read: func(text []byte) error {
			_, err := parseResult(job, text)
			return err
		}})
}
