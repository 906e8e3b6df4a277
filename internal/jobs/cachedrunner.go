package jobs

import (
	"context"
	"errors"
)

// ResultCache keeps the results of jobs for the program that submits them, usually in files of its own
// format. Several goroutines may use it, each for another job.
type ResultCache interface {
	// Load returns the kept output of a job, or nil if none was kept. It is an error if the place of
	// the job has the output of another job.
	Load(j Job) ([]byte, error)
	// Save keeps the output of a job that has just been done.
	Save(j Job, output []byte) error
}

// CachedRunner is a Runner that looks in a Memory first. Only jobs without a kept result go to the other
// Runner, which then forgets the jobs whose results the Memory keeps.
type CachedRunner struct {
	Cache  ResultCache
	Runner Runner
}

// Run returns the results of the jobs. Where some fail, the others are kept all the
// same.
func (m CachedRunner) Run(ctx context.Context, list []Job) ([]Result, error) {
	results := make([]Result, len(list))
	var left []Job
	var at []int // their indexes in list
	for i, j := range list {
		out, err := m.Cache.Load(j)
		switch {
		case err != nil:
			return nil, err
		case out != nil:
			results[i] = Result{Output: out, Cached: true}
		default:
			left, at = append(left, j), append(at, i)
		}
	}
	if len(left) == 0 {
		return results, nil
	}
	done, failed := m.Runner.Run(ctx, left)
	var kept []Job
	for k, r := range done {
		if r.Output == nil {
			continue
		}
		if err := m.Cache.Save(left[k], r.Output); err != nil {
			return nil, errors.Join(failed, err)
		}
		results[at[k]], kept = r, append(kept, left[k])
	}
	return results, errors.Join(failed, m.Runner.Forget(ctx, kept))
}

// Forget makes the Runner forget jobs. The Memory keeps what it has.
func (m CachedRunner) Forget(ctx context.Context, list []Job) error {
	return m.Runner.Forget(ctx, list)
}
