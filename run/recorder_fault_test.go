package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/test/powertest"
	"github.com/kindred-ml/kindred/run/internal/record"
)

// childKill, if set beside childDir, makes the test binary a process that trains
// faultConfig into that folder and kills itself before the change of the file
// system of that number, from 1.
const childKill = "KINDRED_TRAIN_TEST_KILL"

// faultConfig is a run of milliseconds that writes every kind of file.
func faultConfig(t testing.TB) Config {
	t.Helper()
	cfg, err := Parse("test", []byte(`
data:    {label: parity}
network: {name: mlp, width: 8, dim: 4, dropout: 0.2}
sample:  {classes: 2, per_class: 4, batches: 3}
mine:    {positives: easy, negatives: distance}
loss:    {name: margin, memory: 20}
train:   {epochs: 2, lr: 0.01, schedule: cosine, checkpoint: 2, seed: 3}
eval:    {recall: [1], metrics: [map@r], train: 6, keep: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// resumeOrBegin does what a user does with whatever is in dir: resume a run, begin one
// otherwise.
func resumeOrBegin(t testing.TB, dir string, fault func(op, path string) error) error {
	opts := Options{Dir: dir, Resume: Exists(dir), Dataset: newFeatures(4, 8, 6), files: atomic.Files{Fault: fault}}
	_, err := Train(context.Background(), faultConfig(t), opts)
	return err
}

func runAndDie(dir, at string) {
	n, err := strconv.Atoi(at)
	if err != nil {
		panic(err)
	}
	err = resumeOrBegin(&testing.T{}, dir, func(string, string) error {
		if n--; n == 0 {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // until it arrives
		}
		return nil
	})
	fmt.Println("not killed:", err)
	os.Exit(0)
}

// traceRun trains faultConfig and returns the folder and the changes of the file system
// that took, in their order.
func traceRun(t *testing.T) (dir string, changes []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "whole")
	if err := resumeOrBegin(t, dir, func(op, _ string) error {
		changes = append(changes,
			op)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(changes) < 100 {
		t.Fatalf("only %d changes of the file system", len(changes))
	}
	return dir, changes
}

// stopPoints are the changes, from 1, before which a test stops a run. With KINDRED_LONG, as in make
// long, they are all. Otherwise a file that is written in many pieces counts by the first two,
// and of what is left the stops are every seventh, begun at the test's turn: files are written in
// four changes (create, write, sync, rename), so that sevens come to each of these.
func stopPoints(changes []string, turn int) []int {
	var all, some []int
	for i, op := range changes {
		if os.Getenv("KINDRED_LONG") != "" || i < 2 || op != "write" || changes[i-1] != op || changes[i-2] != op {
			all = append(all, i+1)
		}
	}
	every := 7
	switch {
	case os.Getenv("KINDRED_LONG") != "":
		return all
	case testing.Short():
		every = 13
	}
	for k := turn; k < len(all); k += every {
		some = append(some, all[k])
	}
	return some
}

// stopStride is how far apart the stops of a test are that counts them by itself: 1 with
// KINDRED_LONG, some otherwise, which is odd, for the reason that stops gives.
func stopStride(some int) int {
	if os.Getenv("KINDRED_LONG") != "" {
		return 1
	}
	return some
}

// checkFinishedLike checks that a run has all that another has: the same bytes, and a
// line of times for every epoch.
func checkFinishedLike(t *testing.T, want, got string) {
	t.Helper()
	sameFolders(t, want, got)
	times, err := os.ReadFile(filepath.Join(got, record.TimingFile))
	if err != nil {
		t.Error(err)
	} else if n := strings.Count(string(times), "\n"); n != 3 {
		t.Errorf("timing.csv has %d lines:\n%s", n, times)
	}
}

// TestKilledAtEveryWrite kills a run before changes of the file system that it makes,
// and some of those again when they are resumed; what is resumed ends with the bytes of
// a run left alone.
func TestKilledAtEveryWrite(t *testing.T) {
	want, changes := traceRun(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kill := func(dir string, n int) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childDir+"="+dir, childKill+"="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("to be killed at change %d, but: %v\n%s", n, err, out)
		}
	}
	for i, n := range stopPoints(changes, 0) {
		dir := filepath.Join(t.TempDir(), "killed")
		kill(dir, n)
		if i%4 == 3 {
			kill(dir, 1+n%5)
		}
		if err := resumeOrBegin(t, dir, nil); err != nil {
			t.Fatalf("killed at change %d, then: %v", n, err)
		}
		checkFinishedLike(t, want, dir)
		if t.Failed() {
			t.Fatalf("killed at change %d of %d", n, len(changes))
		}
	}
	t.Logf("%d of %d changes of the file system", len(stopPoints(changes, 0)), len(changes))
}

// TestFullAtEveryWrite fills the disk before changes of the file system: the run ends
// with the reason and the way out, leaves no half file, and goes on once there is room.
func TestFullAtEveryWrite(t *testing.T) {
	want, changes := traceRun(t)
	for _, n := range stopPoints(changes, 1) {
		dir := filepath.Join(t.TempDir(), "full")
		at := 0
		err := resumeOrBegin(t, dir, func(op, path string) error {
			if at++; at >= n {
				return &os.PathError{Op: op, Path: path, Err: syscall.ENOSPC}
			}
			return nil
		})
		if !errors.Is(err, syscall.ENOSPC) ||
			!strings.Contains(err.Error(), "the disk is full; free some space, then ") {
			t.Fatalf("full at change %d: %v", n, err)
		}
		if Exists(dir) != strings.Contains(err.Error(), "continue with run.Options.Resume") {
			t.Errorf("full at change %d: %v", n, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", ".kindred-*")); len(left) > 0 {
			t.Errorf("full at change %d: %v left behind", n, left)
		}
		if err := resumeOrBegin(t, dir, nil); err != nil {
			t.Fatalf("full at change %d, then: %v", n, err)
		}
		checkFinishedLike(t, want, dir)
		if t.Failed() {
			t.Fatalf("full at change %d of %d", n, len(changes))
		}
	}
}

// TestReplacedRunKilledAtEveryWrite kills a run that replaces another, while it
// removes that one's files and begins: it can be replaced again, and nothing else
// in the folder has gone.
func TestReplacedRunKilledAtEveryWrite(t *testing.T) {
	want, _ := traceRun(t)
	stop := errors.New("killed")
	for n := 1; n <= 24; n += stopStride(5) {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(want)); err != nil {
			t.Fatal(err)
		}
		mine := filepath.Join(dir, "notes.txt")
		if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		opts := Options{Dir: dir, Force: true, Dataset: newFeatures(4, 8, 6)}
		at := 0
		opts.files.Fault = func(string, string) error {
			if at++; at >= n {
				return stop
			}
			return nil
		}
		if _, err := Train(t.Context(), faultConfig(t), opts); !errors.Is(err, stop) {
			t.Fatalf("stopped at change %d: %v", n, err)
		}
		opts.files.Fault = nil
		if _, err := Train(t.Context(), faultConfig(t), opts); err != nil {
			t.Fatalf("stopped at change %d, then: %v", n, err)
		}
		if b, err := os.ReadFile(mine); err != nil || string(b) != "mine" {
			t.Errorf("stopped at change %d: the notes are %q, %v", n, b, err)
		}
		if err := os.Remove(mine); err != nil {
			t.Fatal(err)
		}
		checkFinishedLike(t, want, dir)
	}
}

// TestPowerLoss looks at what a disk may hold after a loss of power at any step of a run,
// with what was not synced lost, out of order and torn: the run goes on and ends with the
// bytes of one left alone. 30 states with -short, 60 without, 1,000 with KINDRED_LONG.
func TestPowerLoss(t *testing.T) {
	states := 60
	switch {
	case os.Getenv("KINDRED_LONG") != "":
		states = 1000
	case testing.Short():
		states = 30
	}
	want, _ := traceRun(t)
	home := t.TempDir()
	dir := filepath.Join(home, "run")
	disk := powertest.Record(t, home)
	resumeOrBeginWith(t, dir, disk.Files())
	disk.CheckComplete()
	pick := rand.New(rand.NewPCG(1, 5))
	every := max(1, disk.Steps()*8/states)
	looked := 0
	disk.States(1, 3, func(s *powertest.State) bool {
		if pick.IntN(every) != 0 {
			return true
		}
		looked++
		home := t.TempDir()
		s.Write(t, home)
		// Nothing has to be durable of what goes on from there.
		resumeOrBeginWith(t, filepath.Join(home, "run"), atomic.Files{Trace: func(atomic.Step) {}})
		if checkFinishedLike(t, want, filepath.Join(home, "run")); t.Failed() {
			t.Errorf("after step %d of %d", s.Steps, disk.Steps())
		}
		return looked < states && !t.Failed()
	})
	t.Logf("%d states of %d steps", looked, disk.Steps())
}

// resumeOrBeginWith is resumeOrBegin by way of files.
func resumeOrBeginWith(t *testing.T, dir string, files atomic.Files) {
	t.Helper()
	opts := Options{Dir: dir, Resume: Exists(dir), Dataset: newFeatures(4, 8, 6), files: files}
	if _, err := Train(context.Background(), faultConfig(t), opts); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
}
