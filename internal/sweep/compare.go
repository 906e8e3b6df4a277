package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/compute/holm"
	"github.com/kindred-ml/kindred/internal/compute/ttest"
	"github.com/kindred-ml/kindred/run"
)

// ComparisonFile is the file of a Comparison in its folder.
const ComparisonFile = "compare.json"

// Comparison is the result of Compare.
type Comparison struct {
	Metric string `json:"metric"` // that the tests are about
	// Folds is the number of folds of each seed whose scores were averaged; 0: the runs were tested on the test part.
	Folds int           `json:"folds,omitempty"`
	Arms  []ComparedArm `json:"arms"`
	Tests []ArmTest     `json:"tests"` // every two arms
}

// ComparedArm is one arm of a comparison.
type ComparedArm struct {
	Name   string    `json:"name"`
	Config string    `json:"config"`
	Runs   []SeedRun `json:"runs"`
	Scores []Summary `json:"scores"`
	// Best reports that the tests against all other arms say that this arm is ahead.
	Best bool `json:"best"`
}

// Outcomes of a test of two arms.
const (
	Ahead     = "ahead"
	Behind    = "behind"
	Undecided = "undecided"
)

// ArmTest is Student's paired t-test of the metric of two arms. A pair is the two runs of one seed, or their means over
// the folds.
type ArmTest struct {
	Arm   string `json:"arm"`
	Other string `json:"other"`
	// Gain is the mean of arm minus other, Std the standard deviation (n - 1) of the differences; nil for one seed.
	Gain float64  `json:"gain"`
	Std  *float64 `json:"std"`
	N    int      `json:"n"`
	// P is two-sided; nil for one seed and for differences that are equal in all seeds. Corrected is P corrected for
	// the number of tests (Holm).
	P         *float64 `json:"p"`
	Corrected *float64 `json:"p_holm"`
	Verdict   string   `json:"verdict"` // Ahead, Behind or Undecided
	// Why says why the test is undecided, and what would decide it. Needed is the number of seeds that would decide it
	// if mean and spread stay as they are; 0 if it is not known, or above a thousand.
	Why         string `json:"why,omitempty"`
	SeedsNeeded int    `json:"seeds_needed,omitempty"`
}

// Compare trains every arm with every seed, on every fold if the plan has folds, and tests the differences between the
// arms. Options are those of Run; if ctx ends, the same call continues later, to the same result. More seeds continue a
// comparison.
func Compare(ctx context.Context, p *Plan, o Options) (*Comparison, error) {
	s, release, err := openSweep(p, o)
	if err != nil {
		return nil, err
	}
	defer release()
	for i := range p.Arms {
		if err := s.check(ctx, &p.Arms[i], nil, p.runSet(p.Seed, min(1, p.Folds))...); err != nil {
			return nil, err
		}
	}
	runs, err := s.runComparison(ctx)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Metric: p.Metric, Folds: p.NumScoredFolds()}
	for i := range p.Arms {
		cfg, err := p.config(&p.Arms[i], nil)
		if err != nil {
			return nil, err
		}
		a := ComparedArm{Name: p.Arms[i].Name, Config: string(cfg.YAML())}
		for k := range p.Seeds {
			one, err := c.seedRun(p.Seed+uint64(k), runs[i][k])
			if err != nil {
				return nil, fmt.Errorf("arm %s: %w", a.Name, err)
			}
			a.Runs = append(a.Runs, one)
		}
		a.Scores = summarize(a.Runs)
		c.Arms = append(c.Arms, a)
	}
	c.testArms()
	return c, writeJSON(s.o.files, filepath.Join(s.o.Dir, ComparisonFile), c)
}

// Column returns the metric's column in metrics.csv.
func (c *Comparison) Column() string { return metricColumn(c.Metric) }

// runSet returns the overrides of an arm's run with a seed, on a fold from 1 or, with 0, on the whole training part.
func (p *Plan) runSet(seed uint64, fold int) []string {
	set := []string{fmt.Sprintf("train.seed=%d", seed)}
	if fold > 0 {
		set = append(set, p.foldSet(fold))
	}
	return set
}

// runComparison does the runs of a comparison: by arm, seed and fold.
func (s *sweep) runComparison(ctx context.Context) ([][][]Result, error) {
	p, folds := s.plan, max(1, s.plan.NumScoredFolds())
	out := make([][][]Result, len(p.Arms))
	for i := range out {
		out[i] = make([][]Result, p.Seeds)
		for k := range out[i] {
			out[i][k] = make([]Result, folds)
		}
	}
	return out, s.forEach(ctx, p.Seeds*len(p.Arms)*folds, func(ctx context.Context, n int) error {
		arm, k, fold := n/folds%len(p.Arms), n/folds/len(p.Arms), n%folds
		a, seed := &p.Arms[arm], p.Seed+uint64(k)
		e := Event{Arm: a.Name, Seed: seed}
		name := fmt.Sprintf("%s/seed%d", enum.FolderName(a.Name), seed)
		if p.Folds > 0 {
			e.Fold = fold + 1
			name += fmt.Sprintf("/fold%d", e.Fold)
		}
		cfg, err := p.config(a, nil, p.runSet(seed, e.Fold)...)
		if err != nil {
			return err
		}
		e.Until = cfg.Train.Epochs
		s.reportEvent(e)
		r, err := s.runJob(ctx, Job{Name: name, Config: string(cfg.YAML()), Until: e.Until, Metric: p.Column()})
		score, measured := r.Metrics[p.Column()]
		switch {
		case err == nil && r.Failed != "":
			err = fmt.Errorf("run %s: %s", name, r.Failed)
		case err == nil && !measured:
			err = fmt.Errorf("run %s has no %s", name, p.Column())
		}
		if err != nil {
			return err
		}
		out[arm][k][fold] = r
		e.Done, e.Score = true, score
		s.reportEvent(e)
		return nil
	})
}

// seedRun returns the means of the metrics over the folds of a seed.
func (c *Comparison) seedRun(seed uint64, folds []Result) (SeedRun, error) {
	one := SeedRun{Seed: seed, Metrics: map[string]float64{}}
	for _, r := range folds {
		one.Seconds += r.Seconds
		if c.Folds > 0 {
			one.Folds = append(one.Folds, r.Metrics[c.Column()])
		}
	}
	for m := range folds[0].Metrics {
		mean := 0.0
		for _, r := range folds {
			v, ok := r.Metrics[m]
			if !ok {
				mean = math.NaN() // a fold without the metric
			}
			mean += v / float64(len(folds))
		}
		if !math.IsNaN(mean) && !math.IsInf(mean, 0) {
			one.Metrics[m] = mean
		}
	}
	if _, ok := one.Metrics[c.Column()]; !ok {
		return one, fmt.Errorf("%s is not a finite number with seed %d", c.Column(), seed)
	}
	return one, nil
}

// Mean returns the mean of a metric over the seeds of an arm, with its standard deviation.
func (a *ComparedArm) Mean(column string) (Summary, bool) {
	k := slices.IndexFunc(a.Scores, func(s Summary) bool { return s.Metric == column })
	if k < 0 {
		return Summary{}, false
	}
	return a.Scores[k], true
}

// metricValues returns the metric of each seed of an arm.
func (c *Comparison) metricValues(arm int) (v []float64) {
	for _, r := range c.Arms[arm].Runs {
		v = append(v, r.Metrics[c.Column()])
	}
	return v
}

// testArms tests every two arms and marks the best.
func (c *Comparison) testArms() {
	var results []ttest.Result
	var known []float64
	for j := range c.Arms {
		for i := range j {
			r := ttest.Paired(c.metricValues(j), c.metricValues(i))
			results = append(results, r)
			t := ArmTest{Arm: c.Arms[j].Name, Other: c.Arms[i].Name, Gain: r.Mean, N: r.N, Std: numberOrNil(r.Std),
				P: numberOrNil(r.P), Verdict: Undecided}
			if t.P != nil {
				known = append(known, r.P)
			}
			c.Tests = append(c.Tests, t)
		}
	}
	corrected := holm.Correct(known)
	wins := map[string]int{}
	for k := range c.Tests {
		t := &c.Tests[k]
		if t.P != nil {
			t.Corrected, corrected = &corrected[0], corrected[1:]
		}
		switch t.setVerdict(results[k], len(known)); t.Verdict {
		case Ahead:
			wins[t.Arm]++
		case Behind:
			wins[t.Other]++
		}
	}
	for i := range c.Arms {
		c.Arms[i].Best = wins[c.Arms[i].Name] == len(c.Arms)-1
	}
}

// numberOrNil returns a pointer to v, or nil for NaN.
func numberOrNil(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// setVerdict sets the verdict. tests is the number of tests that were corrected for.
func (t *ArmTest) setVerdict(r ttest.Result, tests int) {
	switch {
	case t.N < ttest.MinPairs:
		t.SeedsNeeded = ttest.MinPairs
		t.Why = fmt.Sprintf("%d of at least %d seeds", t.N, ttest.MinPairs)
	case t.P == nil && t.Gain == 0:
		t.Why = "the same score in every seed"
	case t.P == nil:
		t.Why = "the same difference in every seed, so that it has no p"
	case *t.Corrected < ttest.Level && t.Gain > 0:
		t.Verdict = Ahead
	case *t.Corrected < ttest.Level:
		t.Verdict = Behind
	default:
		if t.SeedsNeeded = r.PairsNeeded(tests); t.SeedsNeeded == 0 {
			t.Why = "the difference is too small beside its spread for any number of seeds up to 1000"
			return
		}
		t.Why = fmt.Sprintf("about %d seeds would decide, if mean and spread stay as they are", t.SeedsNeeded)
	}
}

// ParseComparison reads a plan of Compare in YAML. Its keys are those of ParsePlan without those of a search; without
// folds, runs are tested on the test part.
func ParseComparison(file string, text []byte) (*Plan, error) {
	return parsePlan(file, text, &planReader{plan: &Plan{Seed: 1, Seeds: 3}, isComparison: true})
}

// searchKeys are the keys of a plan that a comparison does not have.
var searchKeys = []string{"ranges", "start", "search", "stop", "trials", "budget", "first", "reduction", "at_once"}

// checkComparison fills in the defaults of a comparison and finds its mistakes.
func (r *planReader) checkComparison() {
	p := r.plan
	if p.Metric == "" {
		p.Metric = defaultMetric
	}
	if len(p.Arms) < 2 {
		r.Fail(nil, "a comparison needs two arms or more: arms: [{name: A, set: {...}}, {name: B, set: {...}}]")
	}
	if p.Seeds < 1 {
		r.Fail(nil, "seeds: 0: a comparison needs at least 1, and %d for a verdict", ttest.MinPairs)
	}
	if p.Use > p.Folds {
		r.Fail(nil, "use: %d folds are more than the plan has, %d", p.Use, p.Folds)
	}
	var tested map[string]string
	for i := range p.Arms {
		cfg, err := p.config(&p.Arms[i], nil)
		if err == nil {
			err = checkMetric(cfg, p)
		}
		if err == nil && (cfg.Train.Minutes > 0 || cfg.Train.Budget != "") {
			err = errors.New("train.minutes and train.budget are not allowed in a comparison, whose runs do not " +
				"depend on the clock: use train.epochs")
		}
		if err != nil {
			r.Note(fmt.Errorf("%s: arm %s: %w", r.Position(nil), p.Arms[i].Name, err))
			continue
		}
		now := testSettings(cfg)
		if tested == nil {
			tested = now
		}
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if now[key] != tested[key] {
				r.Fail(nil, "arm %s has %s %s, but arm %s %s: all arms must be tested on the same images by the same "+
					"labels", p.Arms[0].Name, key, tested[key], p.Arms[i].Name, now[key])
			}
		}
	}
}

// testSettings returns the settings that choose the test's images and their classes.
func testSettings(cfg run.Config) map[string]string {
	d := &cfg.Data
	out := map[string]any{"data.name": d.Name, "data.path": d.Path, "data.labels": d.Labels, "data.fine": d.Fine,
		"data.split": d.Split, "data.test_classes": d.TestClasses, "data.test_limit": d.TestLimit,
		"data.group": d.Group}
	if d.Fine == "" {
		out["data.label"] = d.Label
	}
	text := map[string]string{}
	for key, v := range out {
		text[key] = fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return text
}
