package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// Job is a piece of a sweep's work: train one run to an epoch. Jobs of the same name
// continue the same run. A runner that has the run's folder goes on from its checkpoint;
// one that does not trains from the start, which gives the same bits.
type Job struct {
	// Name is the name of the run, and the path of its folder below the runner's, with
	// slashes.
	Name string `json:"name"`
	// Config is the whole configuration as YAML.
	Config string `json:"config"`
	// Until is the epoch to stop after, from 1 to the configuration's train.epochs.
	Until int `json:"until"`
	// Metric is the metric to return, as a column of metrics.csv.
	Metric string `json:"metric"`
}

// Result is the outcome of a job.
type Result struct {
	Epochs int     `json:"epochs"` // epochs done
	Scores []Score `json:"scores"` // of the metric, by epoch
	// Metrics are all scores of the last scored epoch.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Failed is the reason why these settings cannot be trained: the loss is not finite, or no
	// batch can be made. It is a result like others: the settings are bad.
	Failed string `json:"failed,omitempty"`
	// Seconds is the time of training and scoring up to this epoch.
	Seconds float64 `json:"seconds"`
	// Data identifies the data that the run was trained on; nil if an earlier version did not record it, or the run
	// did not start.
	Data *data.Fingerprint `json:"data,omitempty"`
}

// Score is a metric's value after an epoch.
type Score struct {
	Epoch int     `json:"epoch"`
	Value float64 `json:"value"`
}

// Kind is the kind of a sweep's jobs, for workers on other machines: a Job is the spec,
// and the output is a Result as JSON.
const Kind = "sweep"

// job converts j for a runner of jobs.
func (j Job) job() (jobs.Job, error) {
	job, err := jobs.New(Kind, j)
	job.Title = fmt.Sprintf("sweep: %s to epoch %d", j.Name, j.Until)
	return job, err
}

// Runner does the jobs of a sweep: in this process, or elsewhere.
type Runner = jobs.Runner

// RunnerFunc returns a Runner that calls do for each job, in this process. An error ends the sweep,
// unlike Result.Failed.
func RunnerFunc(do func(ctx context.Context, j Job) (Result, error)) Runner {
	return &jobs.Local{Kinds: jobs.Kinds{Kind: func(ctx context.Context, t jobs.Task) ([]byte, error) {
		var j Job
		if err := t.Job().Decode(&j); err != nil {
			return nil, err
		}
		r, err := do(ctx, j)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r)
	}}}
}

// Local trains the runs of a sweep in this process. Dir is the folder of the run
// folders; the other fields are those of run.Options.
type Local struct {
	Dir     string
	Home    string
	Formats embedding.Formats
	Weights func(ctx context.Context, name string) (run.Start, error)
	Dataset *data.Dataset
	// Observe, if set, is called with the progress of the run with that name; several
	// goroutines may call it at a time.
	Observe func(name string, e train.Event)
}

// Run does a job. A run that was stopped or killed goes on from its checkpoint.
func (l Local) Run(ctx context.Context, j Job) (Result, error) {
	dir := filepath.Join(l.Dir, filepath.FromSlash(j.Name))
	cfg, err := run.Parse(j.Name, []byte(j.Config))
	if err != nil {
		return Result{Failed: err.Error()}, nil
	}
	if r, err := readScores(dir, j); err == nil && r.Epochs >= j.Until && j.Until < cfg.Train.Epochs {
		r.Data = readDataFingerprint(dir)
		return r, nil
	}
	ctx, pause := context.WithCancel(ctx)
	defer pause()
	began, paused := false, false
	var of *data.Fingerprint
	res, err := run.Train(ctx, cfg, run.Options{Dir: dir, Resume: run.Exists(dir), Home: l.Home, Formats: l.Formats,
		Weights: l.Weights, Dataset: l.Dataset, SkipUntrainedScores: true, OnSetup: func(s run.Setup) {
			began = true
			f := s.Fingerprint()
			of = &f
			_ = writeJSON(atomic.Files{}, dataFile(dir), f) // only a result read later lacks it
		},
		Observe: func(e train.Event) {
			if e.Stage == train.EpochEnd && e.Row.Epoch == j.Until && j.Until < cfg.Train.Epochs {
				paused = true
				pause()
			}
			if l.Observe != nil {
				l.Observe(j.Name, e)
			}
		}})
	var step *train.StepError
	var file *fs.PathError
	var held *lock.HeldError
	var other *run.DataChangedError
	switch {
	case err == nil:
		r, err := finishedResult(dir, j, res)
		r.Data = of
		return r, err
	case paused && errors.Is(err, context.Canceled):
		r, err := readScores(dir, j)
		r.Data = of
		return r, err
	case ctx.Err() != nil || errors.As(err, &file) || errors.As(err, &held) || errors.As(err, &other):
		return Result{}, err
	case !began || errors.As(err, &step):
		r, _ := readScores(dir, j) // empty for a run that never started
		r.Failed, r.Data = err.Error(), of
		return r, nil
	}
	return Result{}, err
}

// finishedResult returns the result of a finished run. Its scores are those of the network that it kept.
// With train.best that need not be the network of the last epoch.
func finishedResult(dir string, j Job, res *run.Result) (Result, error) {
	r, err := readScores(dir, j)
	if err != nil {
		return r, err
	}
	r.Metrics = map[string]float64{}
	for _, m := range res.Scores {
		r.Metrics[m.Key()] = m.Value
	}
	if v, ok := r.Metrics[j.Metric]; ok {
		r.Scores = fillScores(r.Scores, r.Epochs, j.Until, v)
	}
	return r, nil
}

// fillScores returns the scores of a run whose network has the score v after the given number of epochs. v replaces the
// score of the last epoch. If train.patience ended the run before the epoch until, later epochs would not have
// changed it.
func fillScores(scores []Score, epochs, until int, v float64) []Score {
	if n := len(scores); n > 0 && scores[n-1].Epoch == epochs {
		scores = scores[:n-1]
	}
	scores = append(scores, Score{epochs, v})
	if epochs < until {
		scores = append(scores, Score{until, v})
	}
	return scores
}

// readScores reads the scores of the run in dir, up to the epoch of the job.
func readScores(dir string, j Job) (Result, error) {
	f, err := run.Open(dir)
	if err != nil {
		return Result{}, err
	}
	h, err := f.History()
	if err != nil {
		return Result{}, err
	}
	r := Result{Metrics: map[string]float64{}}
	for i, e := range h.Values["epoch"] {
		if int(e) > j.Until {
			break
		}
		r.Epochs = int(e)
		if values := h.Values[j.Metric]; values != nil && !math.IsNaN(values[i]) {
			r.Scores = append(r.Scores, Score{int(e), values[i]})
		}
		for _, m := range h.Metrics() {
			if v := h.Values[m][i]; !math.IsNaN(v) {
				r.Metrics[m] = v
			}
		}
	}
	if t, err := f.Timing(); err == nil {
		for i, e := range t.Values["epoch"] {
			if int(e) <= j.Until {
				r.Seconds += t.Values["train_seconds"][i] + t.Values["eval_seconds"][i]
			}
		}
	}
	return r, nil
}
