package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/run"
)

// dataCheck makes sure that all results of a sweep's folder are of the same data: scores of other data are not
// comparable, and the winner would be chosen from both.
type dataCheck struct {
	dir string
	mu  sync.Mutex
	of  map[string]data.Fingerprint // by dataSource
	// hasUnrecorded says that the folder has results whose data are not recorded.
	hasUnrecorded bool
}

// dataSource returns what a job's configuration says about the data that it opens.
func dataSource(j Job) (string, error) {
	cfg, err := run.Parse(j.Name, []byte(j.Config))
	d := &cfg.Data
	return fmt.Sprintf("%q", []any{d.Path, d.Name, d.Labels, d.Label, d.Fine, d.Group, d.Crop, d.Strict}), err
}

// read reads the data of the results that the folder has.
func (s *dataCheck) read() error {
	s.of = map[string]data.Fingerprint{}
	err := filepath.WalkDir(filepath.Join(s.dir, jobsDir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := readFile(path)
		if err != nil {
			return err
		}
		var d finishedJob
		if strictjson.UnmarshalLoose(text, &d) != nil {
			return nil // Recall reports it, if the sweep needs it
		}
		if d.Result.Data == nil {
			s.hasUnrecorded = s.hasUnrecorded || d.Result.Failed == ""
			return nil
		}
		return s.check(d.Job, *d.Result.Data)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// check returns an error if a job's data are not those of the other results.
func (s *dataCheck) check(j Job, now data.Fingerprint) error {
	source, err := dataSource(j)
	if err != nil {
		return nil // such a job fails, and has no data
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.of[source]
	if !known {
		s.of[source] = now
		return nil
	}
	if change := now.DescribeChange(was); change != "" {
		return &changedError{option.Errorf("the data of %s are not those of the trials in %s: %s; restore the data, "+
			"or choose another folder with %s", j.Name, s.dir, change, optDir)}
	}
	return nil
}

// optDir is the option of the folder of a sweep.
const optDir option.Option = "sweep.Options.Dir"

// changedError is the error of results of other data.
type changedError struct{ err error }

func (e *changedError) Error() string { return e.err.Error() }
func (e *changedError) Unwrap() error { return e.err }

// unrecordedNote is the remark about results whose data are not recorded.
func (s *dataCheck) unrecordedNote() string {
	return s.dir + " has results of a version that did not record their data: they are taken as results of the data " +
		"as they are now"
}

// dataFile is the file beside a run's folder with the fingerprint of its data.
func dataFile(dir string) string { return dir + ".data.json" }

// readDataFingerprint returns the fingerprint of the data of the run in a folder, or nil if it is not known.
func readDataFingerprint(dir string) *data.Fingerprint {
	text, err := readFile(dataFile(dir))
	if err != nil {
		return nil
	}
	var f data.Fingerprint
	if strictjson.UnmarshalLoose(text, &f) != nil {
		return nil
	}
	return &f
}
