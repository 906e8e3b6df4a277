// Package shards has the jobs that workers can do, and divides the work of commands into
// jobs: shards of a data set to embed or to rank, runs of an experiment, runs of a
// sweep.
//
// The input is a job and files of package jobs. The output is bytes that depend only on the job. The
// command that submitted the jobs combines them.
package shards

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/experiments/paper"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/sweep"
	"github.com/kindred-ml/kindred/run"
)

// WorkerKit does the jobs of a worker. It may do several jobs at a time.
type WorkerKit struct {
	// Dir has a folder for each job in progress, which is removed at the end of the job; ""
	// is the system's folder for temporary files.
	Dir     string
	Home    string // folder of data sets by name
	Formats []embedding.Format
	// Open opens a data set, as data.Open does.
	Open func(ctx context.Context, what string, o data.OpenOptions) (*data.Dataset, error)
	// FetchData fetches the data set of an experiment, to be opened by its name.
	FetchData func(ctx context.Context, e *paper.Experiment, o paper.Options) error
	Weights   func(ctx context.Context, name string) (run.Start, error)
	// Allow limits what jobs may name that this process has not submitted itself (Own).
	Allow Allowed
	// Every is the least time between two saved checkpoints (default 10 s).
	Every time.Duration

	owned sync.Mutex
	own   map[string]bool // ids of jobs

	mu     sync.Mutex
	last   *openShardSource // kept for the next shard
	ranked *rankedSets
}

// The kinds of jobs.
const (
	embedKind = "embed"
	rankKind  = "rank"
	paperKind = paper.Kind
	sweepKind = sweep.Kind
)

// Kinds returns the jobs that the kit can do.
func (k *WorkerKit) Kinds() jobs.Kinds {
	return jobs.Kinds{embedKind: k.embed, rankKind: k.rank, paperKind: k.reproduce, sweepKind: k.trial}
}

// Close closes what is kept for the next job.
func (k *WorkerKit) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ranked = nil
	if k.last != nil {
		k.last.close()
		k.last = nil
	}
}

// makeTempDir makes a folder for a job.
func (k *WorkerKit) makeTempDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(k.Dir, "kindred-job-*")
	return dir, func() { os.RemoveAll(dir) }, err
}
