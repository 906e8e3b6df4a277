package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// training is a job that trains in a run folder, and saves the folder in the queue whenever
// the run has written a checkpoint.
type training struct {
	task  jobs.Task
	dir   string // folder that is saved in the queue
	run   string // the run folder, dir or below it
	every time.Duration

	told  time.Time // time of the last saving
	state string    // state of the saved checkpoint
	err   error     // error of a saving; the job goes on
}

func (k *WorkerKit) newTraining(t jobs.Task, dir, run string) *training {
	return &training{task: t, dir: dir, run: run, every: cmp.Or(k.Every, 10*time.Second), told: time.Now()}
}

// restore unpacks the folder that an earlier worker has saved, if there is one.
func (f *training) restore(ctx context.Context) error {
	r, err := f.task.Restore(ctx)
	if r == nil || err != nil {
		return err
	}
	defer r.Close()
	return unpack(r, f.dir)
}

// observe reports the progress of the run and saves its folder. A run waits for its
// observer, so files do not change meanwhile.
func (f *training) observe(ctx context.Context, e train.Event) {
	switch e.Stage {
	case train.Stepped, train.EpochEnd:
		f.task.Report(fmt.Sprintf("epoch %d of %d, step %d of %d", e.Epoch, e.Epochs, e.Step, e.Steps))
		if time.Since(f.told) >= f.every {
			f.saveNewCheckpoint(ctx)
		}
	}
}

// saveNewCheckpoint saves the folder if it has a new checkpoint.
func (f *training) saveNewCheckpoint(ctx context.Context) {
	folder, err := run.Open(f.run)
	if err != nil {
		return // no checkpoint yet
	}
	info, err := os.Stat(folder.CheckpointPath())
	if err != nil {
		return
	}
	state := fileinfo.State(info)
	if state == f.state {
		return
	}
	f.told = time.Now()
	if f.err = f.task.Save(ctx, func(w io.Writer) error { return pack(w, f.dir) }); f.err == nil {
		f.state = state
	}
}

// saveStopped saves the folder of an interrupted run, and completes its error.
func (f *training) saveStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	f.saveNewCheckpoint(ctx)
	return errors.Join(ctx.Err(), f.err)
}
