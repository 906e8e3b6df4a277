package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/run"
)

// Files of a sweep's folder.
const (
	planFile    = "plan.json"
	resultFile  = "sweep.json"
	ReportFile  = "report.html" // that Write of internal/page/report/sweepreport makes
	runsDir     = "runs"        // ARM/TRIAL/foldN, and winners/ARM/seedN
	jobsDir     = "jobs"        // a file for each job that is done
	winnersDir  = "winners"     // ARM.yaml: a configuration for kindred train
	winnersRuns = "winners"     // below runsDir
)

// Options say where the files of a sweep go and who does its work.
type Options struct {
	// Dir is the folder of the results. If the folder holds a sweep, Run continues it and
	// repeats nothing that is done.
	Dir string
	// Jobs is how many jobs are done at a time; default 1. It changes no result.
	Jobs int
	// Local trains the runs in this process. Its Dir is by default below the sweep's.
	Local Local
	// Runner, if set, does the jobs instead; see By.
	Runner Runner
	// OnEvent, if set, is told of every trial that starts or ends, one call at a time.
	OnEvent func(Event)
	// OnNote, if set, is called with remarks on the folder.
	OnNote func(text string)

	files atomic.Files // tests record what is done by it
}

// Event is news of a trial or of a winner's run.
type Event struct {
	Arm   string
	Trial int    // 0: the winner's run with Seed
	Seed  uint64 // of a winner's run
	Fold  int    // of a comparison with folds, from 1
	Until int    // the epoch to reach
	// Done says that it has reached the epoch, with Score, or Failed.
	Done   bool
	Score  float64
	Failed string
	Spent  int // epochs of the arm's budget by now
}

// Run carries out the plan. For every arm it searches the ranges within the budget, trains
// the winner on the whole training part with each seed, if there are any, and tests each
// once. If ctx ends, the same call continues later, to the same result.
func Run(ctx context.Context, p *Plan, o Options) (*Outcome, error) {
	s, release, err := openSweep(p, o)
	if err != nil {
		return nil, err
	}
	defer release()
	a := &p.Arms[0]
	if err := s.check(ctx, a, lowEnds(p.rangesOf(a)), p.trialSet(a, 1)...); err != nil {
		return nil, err
	}
	out := &Outcome{Plan: p}
	for i := range p.Arms {
		a, err := s.searchArm(ctx, &p.Arms[i])
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", p.Arms[i].Name, err)
		}
		out.Arms = append(out.Arms, *a)
	}
	out.Failed = out.failures()
	return out, s.write(out)
}

// openSweep takes the folder of the results for a plan, until release is called.
func openSweep(p *Plan, o Options) (s *sweep, release func() error, err error) {
	o.Jobs = max(o.Jobs, 1)
	o.Local.Dir = cmp.Or(o.Local.Dir, RunsDir(o.Dir))
	if err := o.files.MkdirAll(o.Dir); err != nil {
		return nil, nil, err
	}
	held, err := lock.Folder(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = held.Release()
		}
	}()
	if err := removeTemporaryFiles(o.files, o.Dir); err != nil {
		return nil, nil, err
	}
	s = &sweep{plan: p, o: o, places: make(chan struct{}, o.Jobs)}
	s.data = &dataCheck{dir: o.Dir}
	s.runner = jobs.CachedRunner{Cache: resultCache{o.Dir, o.files, s.data}, Runner: o.Runner}
	if o.Runner == nil {
		s.runner.Runner = RunnerFunc(o.Local.Run)
	}
	if err := s.open(); err != nil {
		return nil, nil, err
	}
	if err := s.data.read(); err != nil {
		return nil, nil, err
	}
	if s.data.hasUnrecorded && o.OnNote != nil {
		o.OnNote(s.data.unrecordedNote())
	}
	return s, held.Release, nil
}

// removeTemporaryFiles removes the temporary files that killed processes left in a sweep's folder. Run
// folders have theirs removed by their runs.
func removeTemporaryFiles(files atomic.Files, dir string) error {
	dirs := []string{dir, filepath.Join(dir, winnersDir)}
	err := filepath.WalkDir(filepath.Join(dir, jobsDir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return files.Clean(dirs...)
}

// RunsDir is the folder of the run folders of the sweep in dir.
func RunsDir(dir string) string { return filepath.Join(dir, runsDir) }

type sweep struct {
	plan   *Plan
	o      Options
	runner jobs.CachedRunner
	data   *dataCheck
	places chan struct{} // taken by jobs under way
	mu     sync.Mutex    // of Tell
}

func (s *sweep) reportEvent(e Event) {
	if s.o.OnEvent == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.OnEvent(e)
}

// open takes the folder for the plan. A plan that asks for more of the same goes on.
func (s *sweep) open() error {
	path := filepath.Join(s.o.Dir, planFile)
	text, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := checkVacant(s.o.Dir); err != nil {
			return err
		}
		return writeJSON(s.o.files, path, s.plan)
	case err != nil:
		return err
	}
	var was Plan
	if err := strictjson.UnmarshalLoose(text, &was); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if key := firstDifference(&was, s.plan); key != "" {
		return fmt.Errorf("%s has results of another plan: %s has changed (%s); choose another folder",
			s.o.Dir, key, path)
	}
	return writeJSON(s.o.files, path, s.plan)
}

// checkVacant refuses a folder with other files.
func checkVacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lock.FileName {
			return fmt.Errorf("%s is neither empty nor the folder of a sweep or a comparison, as it has %s: choose "+
				"another folder", dir, e.Name())
		}
	}
	return nil
}

// firstDifference names the first key in which plans differ that are not two lengths of one
// sweep; "" for none. Trials, budget and seeds may change: what was done stays as it
// was decided.
func firstDifference(a, b *Plan) string {
	key := func(p *Plan) map[string]json.RawMessage {
		text, err := json.Marshal(p)
		m := map[string]json.RawMessage{}
		if err != nil || strictjson.UnmarshalLoose(text, &m) != nil {
			panic("sweep: the plan cannot be written as JSON")
		}
		delete(m, "trials")
		delete(m, "budget")
		delete(m, "seeds")
		return m
	}
	x, y := key(a), key(b)
	for _, k := range []string{"set", "ranges", "start", "arms", "search", "stop", "epochs", "first", "reduction",
		"folds", "images", "use", "metric", "seed", "at_once"} {
		if !reflect.DeepEqual(x[k], y[k]) {
			return k
		}
	}
	return ""
}

// check finds mistakes in the data, the folds or the settings of an arm before the first run. own are settings of the
// run, more its overrides. A runner elsewhere has the data to itself.
func (s *sweep) check(ctx context.Context, a *Arm, own []Setting, more ...string) error {
	if s.o.Runner != nil {
		return nil
	}
	l := &s.o.Local
	cfg, err := s.plan.config(a, own, more...)
	if err != nil {
		return err
	}
	setup, err := run.Plan(ctx, cfg, run.Options{Home: l.Home, Formats: l.Formats, Weights: l.Weights,
		Dataset: l.Dataset})
	if err != nil {
		return fmt.Errorf("before the first run, arm %s: %w", a.Name, err)
	}
	return s.data.check(Job{Name: "arm " + a.Name, Config: string(cfg.YAML())}, setup.Fingerprint())
}

// searchArm searches an arm's settings and tests the winner.
func (s *sweep) searchArm(ctx context.Context, a *Arm) (*ArmOutcome, error) {
	p := s.plan
	st := &study{drawer: drawer{p.searchOf(a), p.Seed, p.rangesOf(a), p.startOf(a)}, rungs: p.rungs(a),
		eta: p.Reduction, trials: p.Trials, budget: p.Budget, atOnce: p.AtOnce}
	st.train = func(ctx context.Context, t *Trial, until int) error { return s.trainTrial(ctx, a, t, until) }
	st.started = func(t *Trial, until int) {
		s.reportEvent(Event{Arm: a.Name, Trial: t.Number, Until: until, Spent: st.spent})
	}
	st.ended = func(t *Trial) {
		s.reportEvent(Event{Arm: a.Name, Trial: t.Number, Until: t.Epochs, Done: true, Score: t.Score, Failed: t.Failed,
			Spent: st.spent})
	}
	if err := st.run(ctx); err != nil {
		return nil, err
	}
	best, err := st.winner()
	if err != nil {
		return nil, err
	}
	out := &ArmOutcome{Name: a.Name, Trials: st.all, Spent: st.spent, Winner: best.Number}
	for _, t := range st.all {
		out.Seconds += t.Seconds
	}
	return out, s.testWinner(ctx, a, best, out)
}

// trainTrial trains a trial on every fold and fills in its results.
func (s *sweep) trainTrial(ctx context.Context, a *Arm, t *Trial, until int) error {
	results := make([]Result, s.plan.NumScoredFolds())
	err := s.forEach(ctx, len(results), func(ctx context.Context, k int) (err error) {
		cfg, err := s.plan.config(a, t.Set, s.plan.trialSet(a, k+1)...)
		if err != nil {
			results[k].Failed = err.Error()
			return nil
		}
		results[k], err = s.runJob(ctx, Job{Name: fmt.Sprintf("%s/%04d/fold%d", enum.FolderName(a.Name), t.Number, k+1),
			Config: string(cfg.YAML()), Until: until, Metric: s.plan.Column()})
		if err == nil && results[k].Failed == "" && results[k].scoreAt(until) == nil {
			err = fmt.Errorf("trial %d: the run has no %s after epoch %d", t.Number, s.plan.Column(), until)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.Epochs = until
	for k, r := range results {
		t.Seconds += r.Seconds
		if r.Failed != "" && t.Failed == "" {
			t.Failed = fmt.Sprintf("fold %d: %s", k+1, r.Failed)
		}
	}
	if t.hasFailed() {
		return nil
	}
	for _, first := range results[0].Scores {
		mean := 0.0
		for _, r := range results {
			v := r.scoreAt(first.Epoch)
			if v == nil {
				mean = math.NaN()
				break
			}
			mean += *v / float64(len(results))
		}
		if !math.IsNaN(mean) {
			t.Scores = append(t.Scores, Score{first.Epoch, mean})
		}
	}
	for _, r := range results {
		t.Folds = append(t.Folds, *r.scoreAt(until))
	}
	t.Score = t.Scores[len(t.Scores)-1].Value
	return nil
}

// scoreAt returns the metric after an epoch, or nil if that epoch was not scored.
func (r *Result) scoreAt(epoch int) *float64 {
	for i := range r.Scores {
		if r.Scores[i].Epoch == epoch {
			return &r.Scores[i].Value
		}
	}
	return nil
}

// testWinner trains the winner with each seed on the whole training part.
func (s *sweep) testWinner(ctx context.Context, a *Arm, best *Trial, out *ArmOutcome) error {
	p := s.plan
	cfg, err := p.config(a, best.Set)
	if err != nil {
		return err
	}
	out.Config = string(cfg.YAML())
	if p.Seeds == 0 {
		return nil
	}
	out.Runs = make([]SeedRun, p.Seeds)
	err = s.forEach(ctx, p.Seeds, func(ctx context.Context, k int) error {
		seed := p.Seed + uint64(k)
		cfg, err := p.config(a, best.Set, fmt.Sprintf("train.seed=%d", seed), fmt.Sprintf("eval.every=%d", p.Epochs))
		if err != nil {
			return err
		}
		s.reportEvent(Event{Arm: a.Name, Seed: seed, Until: p.Epochs, Spent: out.Spent})
		r, err := s.runJob(ctx, Job{Name: fmt.Sprintf("%s/%s/seed%d", winnersRuns, enum.FolderName(a.Name), seed),
			Config: string(cfg.YAML()), Until: p.Epochs, Metric: p.Column()})
		if err == nil && r.Failed != "" {
			err = fmt.Errorf("the winner, trial %d, on the whole training part with seed %d: %s", best.Number, seed,
				r.Failed)
		}
		if err != nil {
			return err
		}
		out.Runs[k] = SeedRun{Seed: seed, Metrics: r.Metrics, Seconds: r.Seconds}
		s.reportEvent(Event{Arm: a.Name, Seed: seed, Until: p.Epochs, Done: true, Score: r.Metrics[p.Column()],
			Spent: out.Spent})
		return nil
	})
	if err != nil {
		return err
	}
	out.Test = summarize(out.Runs)
	return nil
}

// forEach calls f for 0 to n-1 at the same time; jobs wait for their turn in do. It returns
// the first error in this order, and an error ends the others.
func (s *sweep) forEach(ctx context.Context, n int, f func(ctx context.Context, k int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			if errs[k] = f(ctx, k); errs[k] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if k := slices.IndexFunc(errs, func(err error) bool {
		return err != nil && !errors.Is(err, context.Canceled)
	}); k >= 0 {
		return errs[k]
	}
	return errors.Join(errs...)
}

// runJob does a job, or reads its result if it is done already.
func (s *sweep) runJob(ctx context.Context, j Job) (Result, error) {
	job, err := j.job()
	if err != nil {
		return Result{}, err
	}
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	defer func() { <-s.places }()
	results, err := s.runner.Run(ctx, []jobs.Job{job})
	if changed := (*changedError)(nil); errors.As(err, &changed) {
		err = errors.Join(err, s.runner.Forget(ctx, []jobs.Job{job})) // no later call takes such a result
	}
	if err != nil {
		return Result{}, err
	}
	return parseResult(job, results[0].Output)
}

// write writes the outcome of the sweep, and the configurations of the winners.
func (s *sweep) write(out *Outcome) error {
	dir := filepath.Join(s.o.Dir, winnersDir)
	if err := s.o.files.MkdirAll(dir); err != nil {
		return err
	}
	for _, a := range out.Arms {
		err := s.o.files.Write(filepath.Join(dir, enum.FolderName(a.Name)+".yaml"), func(w io.Writer) error {
			_, err := io.WriteString(w, a.Config)
			return err
		})
		if err != nil {
			return err
		}
	}
	return writeJSON(s.o.files, filepath.Join(s.o.Dir, resultFile), out)
}

func readFile(path string) ([]byte, error) {
	return fileinfo.ReadAtMost(path, "a file of a sweep", 64<<20)
}

func writeJSON(files atomic.Files, path string, v any) error {
	return files.Write(path, atomic.JSON(v))
}
