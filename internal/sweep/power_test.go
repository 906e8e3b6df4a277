package sweep

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/test/powertest"
)

// formulaRunner is a runner whose results follow from the job, and which knows what it did.
type formulaRunner struct {
	mu   sync.Mutex
	done []string // names and epochs
}

func (d *formulaRunner) Run(_ context.Context, j Job) (Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, jobName(j))
	h := fnv.New64a()
	h.Write([]byte(j.Config))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	r := Result{Epochs: j.Until, Metrics: map[string]float64{}}
	for e := 1; e <= j.Until; e++ {
		r.Scores = append(r.Scores, Score{e, rng.Float64()})
		r.Metrics[j.Metric] = r.Scores[e-1].Value
	}
	if rng.IntN(9) == 0 && j.Until < 4 {
		r.Failed = "the loss is not finite"
	}
	return r, nil
}

func jobName(j Job) string { return fmt.Sprintf("%s to %d", j.Name, j.Until) }

// TestPowerLoss looks at what a disk may hold after a loss of power at any step of a
// sweep: the next start ends with the same outcome, and does no job again whose result
// was in its file when the next one was begun. 60 states with -short, 80 without, 3,000
// with KINDRED_LONG.
func TestPowerLoss(t *testing.T) {
	states := 80
	switch {
	case os.Getenv("KINDRED_LONG") != "":
		states = 3000
	case testing.Short():
		states = 60
	}
	p := parsePlanText(t, smallPlan)
	p.Trials, p.Folds, p.Seeds = 4, 1, 1
	home := t.TempDir()
	disk := powertest.Record(t, home)
	r := &stepRunner{disk: disk}
	out, err := Run(t.Context(), p, Options{Dir: filepath.Join(home, "sweep"), Runner: runnerOf(r),
		files: disk.Files()})
	if err != nil {
		t.Fatal(err)
	}
	want := readOutput(t, out)
	disk.CheckComplete()
	more := max(4, states/disk.Steps())
	all := 0
	disk.States(1, more, func(*powertest.State) bool { all++; return true })
	pick, looked := rand.New(rand.NewPCG(1, 6)), 0
	disk.States(1, more, func(s *powertest.State) bool {
		if pick.IntN(all) >= states {
			return true
		}
		looked++
		home := t.TempDir()
		s.Write(t, home)
		again := &formulaRunner{}
		out, err := Run(t.Context(), p, Options{Dir: filepath.Join(home, "sweep"), Runner: runnerOf(again),
			// Nothing has to be durable of what goes on from there.
			files: atomic.Files{Trace: func(atomic.Step) {}}})
		if err != nil {
			t.Errorf("after step %d of %d: %v", s.Steps, disk.Steps(), err)
			return false
		}
		if readOutput(t, out) != want {
			t.Errorf("after step %d of %d: another outcome", s.Steps, disk.Steps())
		}
		for _, name := range again.done {
			if at, ok := r.kept[name]; ok && at <= s.Steps {
				t.Errorf("after step %d of %d: %s is done again", s.Steps, disk.Steps(), name)
			}
		}
		return looked < states && !t.Failed()
	})
	t.Logf("%d of %d states of %d steps", looked, all, disk.Steps())
}

// stepRunner is drawn, and notes from which step on a job's result is kept: when the next
// job is begun, as one is done at a time.
type stepRunner struct {
	formulaRunner
	disk *powertest.Disk
	kept map[string]int
}

func (s *stepRunner) Run(ctx context.Context, j Job) (Result, error) {
	if s.kept == nil {
		s.kept = map[string]int{}
	}
	if n := len(s.done); n > 0 {
		s.kept[s.done[n-1]] = s.disk.Steps()
	}
	return s.formulaRunner.Run(ctx, j)
}
