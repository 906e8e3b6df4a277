package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/run"
)

// savedJob is the file of a job as sweeps have written it since they keep any: those begun
// before this test was written are gone on with.
const savedJob = `{
  "job": {
    "name": "ms/0001/fold1",
    "config": "train:\n  lr: 0.5\n",
    "until": 2,
    "metric": "test_recall@1"
  },
  "result": {
    "epochs": 2,
    "scores": [
      {
        "epoch": 1,
        "value": 0.25
      },
      {
        "epoch": 2,
        "value": 0.5
      }
    ],
    "metrics": {
      "test_map@r": 0.125,
      "test_recall@1": 0.5
    },
    "seconds": 1.5
  }
}
`

// TestMemory reads the file of a job and writes the same bytes again.
func TestMemory(t *testing.T) {
	dir := resultCache{dir: t.TempDir()}
	path := filepath.Join(dir.dir, "jobs", "ms", "0001", "fold1-epoch2.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(savedJob)
	// The configuration as this program writes it, with all that has been added since.
	cfg, err := run.Parse("", []byte("train:\n  lr: 0.5\n"))
	if err != nil {
		t.Fatal(err)
	}
	job, err := Job{"ms/0001/fold1", string(cfg.YAML()), 2, "test_recall@1"}.job()
	if err != nil {
		t.Fatal(err)
	}
	out, err := dir.Load(job)
	if err != nil || out == nil {
		t.Fatalf("%s, %v", out, err)
	}
	if r, err := parseResult(job, out); err != nil || len(r.Scores) != 2 || r.Metrics["test_map@r"] != 0.125 ||
		r.Seconds != 1.5 {
		t.Errorf("%+v, %v", r, err)
	}
	old := Job{"ms/0001/fold1", "train:\n  lr: 0.5\n", 2, "test_recall@1"}
	if job, err = old.job(); err != nil {
		t.Fatal(err)
	}
	if err := dir.Save(job, out); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != savedJob {
		t.Errorf("%v, %s", err, text)
	}
	for _, c := range []struct{ text, want string }{
		{strings.Replace(savedJob, "lr: 0.5", "lr: 0.25", 1), "other settings"},
		{strings.Replace(savedJob, `"until": 2`, `"until": 3`, 1), "other settings"},
		{savedJob[:len(savedJob)/2], "remove the file to do the job again"},
		{"", "remove the file to do the job again"},
	} {
		write(c.text)
		if out, err := dir.Load(job); out != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %v, want %q of\n%s", out, err, c.want, c.text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out, err := dir.Load(job); out != nil || err != nil {
		t.Errorf("nothing is there: %s, %v", out, err)
	}
	if err := dir.Save(job, []byte("{")); err == nil || !strings.Contains(err.Error(), "a damaged result") {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a damaged result is kept")
	}
}
