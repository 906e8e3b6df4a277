package shards

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
)

// countingTask is a task that counts what it is to keep.
type countingTask struct {
	jobs.Task
	saved int
}

func (s *countingTask) Save(context.Context, func(io.Writer) error) error { s.saved++; return nil }

// TestHandOn: a checkpoint is handed on once, and another one of the same size and time that was
// written over it as well.
func TestHandOn(t *testing.T) {
	dir := t.TempDir()
	folder, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	path, when := folder.CheckpointPath(), time.Unix(1_000_000_000, 0)
	checkpoint := func(text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600),
			os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	task := &countingTask{}
	f := (&WorkerKit{}).newTraining(task, dir, dir)
	f.saveNewCheckpoint(t.Context())
	if task.saved != 0 {
		t.Fatal("handed on before there was one")
	}
	checkpoint("one")
	for range 2 {
		if f.saveNewCheckpoint(t.Context()); task.saved != 1 {
			t.Fatalf("handed on %d times", task.saved)
		}
	}
	if runtime.GOOS == "windows" {
		return // size and time are all that is known of a file
	}
	// File systems count time by ticks: what was written within the same one looks the same.
	for end := time.Now().Add(10 * time.Second); task.saved == 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the second checkpoint is not handed on")
		}
		checkpoint("two")
		f.saveNewCheckpoint(t.Context())
	}
}
