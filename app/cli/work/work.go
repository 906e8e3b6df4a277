// Package work has the jobs that workers can do, and cuts the work of commands into such
// jobs: shards of a data set to embed or to rank, runs of an experiment, runs of a
// sweep.
//
// In: jobs and files of package jobs. Out: bytes that depend on the job alone. The
// command that submitted the jobs combines them.
package work

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/app/experiments/paper"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/sweep"
)

// Kit is what a worker works with. It may do several jobs at a time.
type Kit struct {
	// Dir holds what is under way, in folders that are removed when it has ended; ""
	// is the system's for temporary files.
	Dir     string
	Home    string // folder of data sets by name
	Formats []embedding.Format
	// Open opens a data set, as data.Open does.
	Open func(ctx context.Context, what string, o data.OpenOptions) (*data.Dataset, error)
	// Bring makes the data set of an experiment available by its name.
	Bring   func(ctx context.Context, e *paper.Experiment, o paper.Options) error
	Weights func(ctx context.Context, name string) (run.Start, error)
	// Allow is what jobs may name that this process has not submitted itself (Own).
	Allow Allowed
	// Every is the least time between two checkpoints that are handed on (default 10 s).
	Every time.Duration

	owned sync.Mutex
	own   map[string]bool // ids of jobs

	mu     sync.Mutex
	last   *opened // for the next shard
	ranked *ranked
}

// The kinds of jobs.
const (
	embedKind = "embed"
	rankKind  = "rank"
	paperKind = paper.Kind
	sweepKind = sweep.Kind
)

// Kinds are the jobs that the kit can do.
func (k *Kit) Kinds() jobs.Kinds {
	return jobs.Kinds{embedKind: k.embed, rankKind: k.rank, paperKind: k.reproduce, sweepKind: k.trial}
}

// Close lets go of what is kept for the next job.
func (k *Kit) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ranked = nil
	if k.last != nil {
		k.last.close()
		k.last = nil
	}
}

// scratch makes a folder for a job.
func (k *Kit) scratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(k.Dir, "kindred-job-*")
	return dir, func() { os.RemoveAll(dir) }, err
}
