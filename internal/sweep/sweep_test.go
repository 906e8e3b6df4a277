package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/train"
)

// smallPlan is a plan of seconds on rows.
const smallPlan = `
set:
  data: {name: rows}
  network: {name: linear, dim: 3}
  sample: {classes: 3, batches: 3}
  train.epochs: 4
  eval.recall: [1]
ranges:
  train.lr: {low: 0.0001, high: 0.1, log: true}
  sample.per_class: {low: 2, high: 4}
  mine.positives: [easy, random]
arms:
  - {name: Triplet, set: {loss.name: triplet}, ranges: {loss.margin: {low: 0.1, high: 0.5, step: 0.1}}}
  - {name: MS, set: {loss.name: multisimilarity}}
trials: 14
reduction: 2
folds: 2
seeds: 2
seed: 5
`

func parsePlanText(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := ParsePlan("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readOutput is what a sweep writes, without the times.
func readOutput(t *testing.T, out *Outcome) string {
	t.Helper()
	for i := range out.Arms {
		a := &out.Arms[i]
		a.Seconds = 0
		for _, tr := range a.Trials {
			tr.Seconds = 0
		}
		for k := range a.Runs {
			a.Runs[k].Seconds = 0
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stoppingRunner runs jobs until a number of them is done, and then stops its sweep.
type stoppingRunner struct {
	Local
	left atomic.Int32
	stop context.CancelFunc
}

func (f *stoppingRunner) Run(ctx context.Context, j Job) (Result, error) {
	if f.left.Add(-1) < 0 {
		f.stop()
		return Result{}, context.Canceled
	}
	return f.Local.Run(ctx, j)
}

// checkMissing checks that files are not there.
func checkMissing(t *testing.T, paths []string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// writeLeftovers puts into a sweep's folders what processes leave that were killed as they
// wrote: the next start removes it.
func writeLeftovers(t *testing.T, dir string) (left []string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, jobsDir, "*"))
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	for _, dir := range append(folders[:1], dir, filepath.Join(dir, winnersDir), filepath.Join(dir, jobsDir)) {
		left = append(left, filepath.Join(dir, ".kindred-0123456789abcdef.tmp"))
		if err := os.WriteFile(left[len(left)-1], []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return left
}

// TestSweep compares a sweep with one of another number of jobs, which is stopped
// over and over, and with one that is given again.
func TestSweep(t *testing.T) {
	p := parsePlanText(t, smallPlan)
	one := t.TempDir()
	var events atomic.Int32
	out, err := Run(t.Context(), p, Options{Dir: one, Local: Local{Dir: RunsDir(one), Dataset: newRows()},
		OnEvent: func(Event) { events.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	want := readOutput(t, out)
	many := t.TempDir()
	interrupted := 0
	for {
		ctx, stop := context.WithCancel(t.Context())
		f := &stoppingRunner{Local: Local{Dir: RunsDir(many), Dataset: newRows()}, stop: stop}
		f.left.Store(17)
		out, err = Run(ctx, p, Options{Dir: many, Jobs: 5, Runner: runnerOf(f)})
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		interrupted++
	}
	if interrupted < 3 {
		t.Errorf("interrupted %d times", interrupted)
	}
	if got := readOutput(t, out); got != want {
		t.Errorf("with five jobs and %d interruptions:\n%s\nat once:\n%s", interrupted, got, want)
	}
	left := writeLeftovers(t, one)
	out, err = Run(t.Context(), p, Options{Dir: one, Runner: runnerOf(refusingRunner{})})
	if err != nil {
		t.Fatalf("given again, it works again: %v", err)
	}
	checkMissing(t, left)
	for i := range out.Arms {
		a := &out.Arms[i]
		if a.Spent > p.Budget || len(a.Trials) != p.Trials || len(a.Runs) != p.Seeds {
			t.Errorf("arm %s: %d epochs, %d trials, %d runs", a.Name, a.Spent, len(a.Trials), len(a.Runs))
		}
		full := 0
		for _, tr := range a.Trials {
			if tr.Epochs == p.Epochs {
				full++
			}
			if len(tr.Folds) != p.Folds || math.Abs((tr.Folds[0]+tr.Folds[1])/2-tr.Score) > 1e-12 {
				t.Errorf("trial %d: score %v of folds %v", tr.Number, tr.Score, tr.Folds)
			}
		}
		if full == 0 || full > p.Trials/2 {
			t.Errorf("arm %s: %d of %d trials were trained to the end", a.Name, full, len(a.Trials))
		}
		best := a.BestTrial()
		for _, tr := range a.Trials {
			if tr.Epochs == p.Epochs && tr.Score > best.Score {
				t.Errorf("trial %d is better than the winner, %d", tr.Number, best.Number)
			}
		}
		if a.Test[0].N != p.Seeds || a.Runs[0].Metrics[p.Column()] == 0 {
			t.Errorf("test: %+v", a.Test)
		}
		for _, im := range out.Importance(i) {
			if !(im.Share >= 0 && im.Share <= 1) {
				t.Errorf("importance of %s: %v", im.Key, im.Share)
			}
		}
	}
	if events.Load() == 0 {
		t.Error("no news")
	}
	if _, err := os.Stat(filepath.Join(one, "winners", "triplet.yaml")); err != nil {
		t.Error(err)
	}
	tryOtherPlans(t, one)
}

// tryOtherPlans gives the folder of a sweep to other plans.
func tryOtherPlans(t *testing.T, dir string) {
	longer := parsePlanText(t, strings.ReplaceAll(smallPlan, "seeds: 2", "seeds: 3"))
	out, err := Run(t.Context(), longer, Options{Dir: dir, Local: Local{Dir: RunsDir(dir), Dataset: newRows()}})
	if err != nil || len(out.Arms[0].Runs) != 3 {
		t.Errorf("one more seed: %v", err)
	}
	other := parsePlanText(t, strings.ReplaceAll(smallPlan, "low: 2", "low: 3"))
	if _, err := Run(t.Context(), other, Options{Dir: dir, Runner: runnerOf(refusingRunner{})}); err == nil ||
		!strings.Contains(err.Error(), "ranges has changed") {
		t.Errorf("another plan: %v", err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), other, Options{Dir: full, Runner: runnerOf(refusingRunner{})}); err == nil ||
		!strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a folder with other files: %v", err)
	}
}

// TestDiffers: another plan is told from more of the same.
func TestDiffers(t *testing.T) {
	p := parsePlanText(t, smallPlan)
	for from, to := range map[string]string{"trials: 14": "trials: 15\nbudget: 70", "seeds: 2": "seeds: 5", "": ""} {
		if key := firstDifference(p, parsePlanText(t, strings.Replace(smallPlan, from, to, 1))); key != "" {
			t.Errorf("%s: another plan by %s", to, key)
		}
	}
	for key, with := range map[string][2]string{
		"set": {"dim: 3", "dim: 2"}, "ranges": {"low: 2", "low: 3"}, "arms": {"name: MS", "name: MultiSim"},
		"search": {"trials: 14", "search: random"}, "stop": {"trials: 14", "stop: never"},
		"first":     {"trials: 14", "first: 2"},
		"reduction": {"reduction: 2", "reduction: 4"}, "folds": {"folds: 2", "folds: 3"},
		"images": {"folds: 2", "folds: images:2"}, "use": {"folds: 2", "folds: 2\nuse: 1"},
		"seed": {"seed: 5", "seed: 6"}, "at_once": {"trials: 14", "at_once: 5"},
	} {
		if got := firstDifference(p, parsePlanText(t, strings.Replace(smallPlan, with[0], with[1], 1))); got != key {
			t.Errorf("%s differs, and not %q", key, got)
		}
	}
	longer, other := *p, *p
	longer.Epochs, other.Metric = 5, "recall@2" // which follow from what is set
	if a, b := firstDifference(p, &longer), firstDifference(p, &other); a != "epochs" || b != "metric" {
		t.Errorf("%s differs, and %s", a, b)
	}
}

// TestEach: all are called, and the first error that is none of being cancelled counts.
func TestEach(t *testing.T) {
	s := &sweep{}
	var called atomic.Int32
	broken := errors.New("broken")
	err := s.forEach(t.Context(), 5, func(ctx context.Context, k int) error {
		called.Add(1)
		if k == 3 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != broken || called.Load() != 5 {
		t.Errorf("%v after %d calls", err, called.Load())
	}
	if err := s.forEach(t.Context(), 3, func(context.Context, int) error { return nil }); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.forEach(ctx, 2, func(ctx context.Context, _ int) error { return ctx.Err() }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// countingRunner gives scores without training, and counts the jobs under way.
type countingRunner struct {
	mu        sync.Mutex
	now, most int
	jobs      []Job
}

func (c *countingRunner) Run(_ context.Context, j Job) (Result, error) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.jobs = append(c.jobs, j)
	c.mu.Unlock()
	time.Sleep(time.Millisecond)
	r := Result{Epochs: j.Until, Seconds: 2, Metrics: map[string]float64{j.Metric: 0.75}}
	for e := range j.Until {
		r.Scores = append(r.Scores, Score{e + 1, float64(len(j.Config)%7+e) / 10})
	}
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
	return r, nil
}

// TestJobs: jobs are done one at a time unless the caller says how many may be, and are
// named and told of as the documents say.
func TestJobs(t *testing.T) {
	p := parsePlanText(t, smallPlan)
	for many, want := range map[int]int{0: 1, 1: 1, 3: 3} {
		c := &countingRunner{}
		started, ended, winners := 0, 0, 0
		out, err := Run(t.Context(), p, Options{Dir: t.TempDir(), Runner: runnerOf(c), Jobs: many,
			OnEvent: func(e Event) {
				switch {
				case e.Trial == 0:
					winners++
					if e.Seed != 5 && e.Seed != 6 || e.Until != 4 || e.Done != (e.Score == 0.75) {
						t.Errorf("%+v", e)
					}
				case e.Done:
					ended++
				default:
					started++
				}
				if e.Spent > p.Budget || e.Failed != "" {
					t.Errorf("%+v of %d epochs", e, p.Budget)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		flights := 0
		for _, a := range out.Arms {
			spent, seconds := 0, 0.0
			for _, tr := range a.Trials {
				flights += len(tr.rungs)
				spent += tr.Epochs
				if seconds += tr.Seconds; tr.Seconds != 4 { // two for each fold
					t.Errorf("trial %d took %v s", tr.Number, tr.Seconds)
				}
			}
			if spent != a.Spent || seconds != a.Seconds || a.Test[0] != (Summary{"test_recall@1", 0.75, 0, 2}) {
				t.Errorf("%s: %d epochs and %v s, of trials %d and %v: %+v", a.Name, a.Spent, a.Seconds, spent, seconds,
					a.Test)
			}
		}
		// Both folds of every flight, and two seeds of two winners.
		if c.most != want || started != flights || ended != flights || winners != 8 || len(c.jobs) != 2*flights+4 {
			t.Errorf("%d jobs at a time, %d in all: %d and %d of %d flights, %d of 8 times a winner was told of",
				c.most, len(c.jobs), started, ended, flights, winners)
		}
		for _, j := range c.jobs {
			ends := func(name string) bool { return strings.HasSuffix(j.Name, name) }
			winner := strings.HasPrefix(j.Name, "winners/triplet/seed") || strings.HasPrefix(j.Name, "winners/ms/seed")
			for text, has := range map[string]bool{"fold: 1/2": ends("/fold1"), "fold: 2/2": ends("/fold2"),
				"seed: 6": ends("/seed6"), "every: 1": !winner, "every: 4": winner} {
				if strings.Contains(j.Config, text) != has {
					t.Errorf("%s: its configuration has %s: %v", j.Name, text, !has)
				}
			}
		}
	}
}

// runnerOf has the jobs of a sweep done by what a test makes of them.
func runnerOf(r interface {
	Run(ctx context.Context, j Job) (Result, error)
}) Runner {
	return RunnerFunc(r.Run)
}

// refusingRunner does no job.
type refusingRunner struct{}

func (refusingRunner) Run(context.Context, Job) (Result, error) {
	return Result{}, errors.New("a job is done again")
}

// failingWinners is drawn, but for runs of winners, which cannot be trained.
type failingWinners struct{ formulaRunner }

func (u *failingWinners) Run(ctx context.Context, j Job) (Result, error) {
	if strings.HasPrefix(j.Name, winnersRuns) {
		return Result{Failed: "no batch can be made"}, nil
	}
	return u.formulaRunner.Run(ctx, j)
}

// A winner that cannot be trained on the whole training part ends a sweep, which says why.
func TestWinnerFails(t *testing.T) {
	p := parsePlanText(t, smallPlan)
	p.Trials, p.Folds, p.Seeds = 3, 1, 1
	_, err := Run(t.Context(), p, Options{Dir: t.TempDir(), Runner: runnerOf(&failingWinners{})})
	if err == nil || !strings.Contains(err.Error(), "on the whole training part with seed 5: no batch can be made") {
		t.Error(err)
	}
}

// A sweep writes its outcome, and the configuration of the winner of each arm.
func TestWritten(t *testing.T) {
	p := parsePlanText(t, smallPlan)
	p.Trials, p.Folds, p.Seeds = 3, 1, 1
	dir := t.TempDir()
	out, err := Run(t.Context(), p, Options{Dir: dir, Runner: runnerOf(&formulaRunner{})})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range out.Arms {
		text, err := os.ReadFile(filepath.Join(dir, winnersDir, enum.FolderName(a.Name)+".yaml"))
		if err != nil || string(text) != a.Config || a.Config == "" {
			t.Errorf("%s: %v\n%s\nwant\n%s", a.Name, err, text, a.Config)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, resultFile))
	var back Outcome
	if err != nil || json.Unmarshal(text, &back) != nil || readOutput(t, &back) != readOutput(t, out) ||
		len(out.Arms) != 2 {
		t.Errorf("%v, %s", err, text)
	}
}

// TestFirst finds what is wrong before the first trial.
func TestFirst(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"folds: 2", "folds: 4", ""},
		{"folds: 2", "folds: 5", "fold 4 has 1 class"}, // 8 classes train
		{"folds: 2", "folds: 100", "take fewer folds"},
		{"folds: 2", "folds: images:2", ""},
		{"data: {name: rows}", "data: {name: rows, label: colour}", "colour"},
	} {
		p := parsePlanText(t, strings.Replace(smallPlan, c.from, c.to, 1))
		ctx, cancel := context.WithCancel(t.Context())
		dir := t.TempDir()
		_, err := Run(ctx, p, Options{Dir: dir, Local: Local{Dir: RunsDir(dir), Dataset: newRows()},
			OnEvent: func(Event) { cancel() }})
		cancel()
		if c.want == "" && !errors.Is(err, context.Canceled) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

// TestAllFail ends with the reason of the first trial.
func TestAllFail(t *testing.T) {
	p := parsePlanText(t, strings.NewReplacer("low: 0.0001, high: 0.1, log: true",
		"low: 1.0e+28, high: 1.0e+30, log: true",
		"unused", "").Replace(
		strings.Replace(smallPlan, "  train.epochs: 4\n", "  train.epochs: 4\n  train.optimizer: sgd\n", 1)))
	dir := t.TempDir()
	_, err := Run(t.Context(), p, Options{Dir: dir, Local: Local{Dir: RunsDir(dir), Dataset: newRows()}})
	if err == nil || !strings.Contains(err.Error(), "all 14 trials failed; the first: fold 1: ") {
		t.Error(err)
	}
}

// TestSweepOfOneFold scores trials on one fold of two and tests no winner; later it
// does, without training a trial again.
func TestSweepOfOneFold(t *testing.T) {
	text := strings.ReplaceAll(smallPlan, "seeds: 2", "seeds: 0\nuse: 1")
	dir := t.TempDir()
	out, err := Run(t.Context(), parsePlanText(t, text), Options{Dir: dir,
		Local: Local{Dir: RunsDir(dir), Dataset: newRows()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range out.Arms {
		if a.Config == "" || a.Runs != nil || a.Test != nil || len(a.BestTrial().Folds) != 1 ||
			a.BestTrial().Folds[0] != a.BestTrial().Score {
			t.Errorf("%s: %+v, %+v", a.Name, a.BestTrial(), a.Runs)
		}
	}
	if there, err := filepath.Glob(filepath.Join(RunsDir(dir), "*", "*", "fold2")); err != nil || there != nil {
		t.Errorf("the second fold was trained on: %v, %v", there, err)
	}
	var tested atomic.Int32
	out, err = Run(t.Context(), parsePlanText(t, strings.ReplaceAll(text, "seeds: 0", "seeds: 1")), Options{Dir: dir,
		Local: Local{Dir: RunsDir(dir), Dataset: newRows(), Observe: func(name string, _ train.Event) {
			if !strings.HasPrefix(name, winnersRuns) {
				t.Errorf("%s was trained again", name)
			}
			tested.Add(1)
		}}})
	if err != nil || tested.Load() == 0 || len(out.Arms[0].Runs) != 1 {
		t.Errorf("%d steps, %v", tested.Load(), err)
	}
	if p := parsePlanText(t, strings.ReplaceAll(text, "use: 1", "use: 2")); p.Use != 2 { // all of them
		t.Errorf("two of two folds: %d", p.Use)
	}
	if _, err := ParsePlan("plan.yaml", []byte(strings.ReplaceAll(text, "use: 1", "use: 3"))); err == nil ||
		!strings.Contains(err.Error(), "3 folds are more than the plan has, 2") {
		t.Errorf("three of two folds: %v", err)
	}
}
