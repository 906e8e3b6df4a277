package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
)

// resultCache keeps the results of the jobs of a sweep, in a file for each below jobsDir:
// NAME-epochN.json.
type resultCache struct {
	dir   string
	files atomic.Files
	data  *dataCheck // nil in tests
}

// finishedJob is the file of a finished job.
type finishedJob struct {
	Job    Job    `json:"job"`
	Result Result `json:"result"`
}

func (m resultCache) path(j Job) string {
	return filepath.Join(m.dir, jobsDir, filepath.FromSlash(j.Name)+fmt.Sprintf("-epoch%d.json", j.Until))
}

// Load implements jobs.ResultCache.
func (m resultCache) Load(job jobs.Job) ([]byte, error) {
	var j Job
	if err := job.Decode(&j); err != nil {
		return nil, err
	}
	path := m.path(j)
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var d finishedJob
	if err := strictjson.UnmarshalLoose(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file to do the job again", path, err)
	}
	if !isSameJob(d.Job, j) {
		return nil, fmt.Errorf("%s is of a job with other settings: choose another folder for this plan", path)
	}
	return json.Marshal(d.Result)
}

// Save implements jobs.ResultCache.
func (m resultCache) Save(job jobs.Job, output []byte) error {
	var d finishedJob
	err := job.Decode(&d.Job)
	if err == nil {
		d.Result, err = parseResult(job, output)
	}
	if err != nil {
		return err
	}
	if m.data != nil && d.Result.Data != nil {
		if err := m.data.check(d.Job, *d.Result.Data); err != nil {
			return err
		}
	}
	path := m.path(d.Job)
	if err := m.files.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return writeJSON(m.files, path, d)
}

// parseResult reads the result of a job.
func parseResult(job jobs.Job, output []byte) (r Result, err error) {
	if err := strictjson.UnmarshalLoose(output, &r); err != nil {
		return r, fmt.Errorf("%s: a damaged result: %w", job.Title, err)
	}
	return r, nil
}

// isSameJob reports whether the kept result is of the job j. It reads the old configuration with this
// program, which fills in the defaults of keys that an earlier version lacked.
func isSameJob(was, j Job) bool {
	cfg, err := run.Parse(was.Name, []byte(was.Config))
	if err == nil {
		was.Config = string(cfg.YAML())
	}
	return was == j
}
