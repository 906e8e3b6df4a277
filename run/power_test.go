package run

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/testing/powertest"
)

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
	want, _ := wholeRun(t)
	home := t.TempDir()
	dir := filepath.Join(home, "run")
	disk := powertest.Record(t, home)
	goOnBy(t, dir, disk.Files())
	disk.Complete()
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
		goOnBy(t, filepath.Join(home, "run"), atomic.Files{Trace: func(atomic.Step) {}})
		if finishedLike(t, want, filepath.Join(home, "run")); t.Failed() {
			t.Errorf("after step %d of %d", s.Steps, disk.Steps())
		}
		return looked < states && !t.Failed()
	})
	t.Logf("%d states of %d steps", looked, disk.Steps())
}

// goOnBy is goOn by way of files.
func goOnBy(t *testing.T, dir string, files atomic.Files) {
	t.Helper()
	opts := Options{Dir: dir, Resume: Begun(dir), Dataset: newFeatures(4, 8, 6), files: files}
	if _, err := Train(context.Background(), faultConfig(t), opts); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
}
