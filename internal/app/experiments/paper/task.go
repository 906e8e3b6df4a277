package paper

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// Task replaces run.Train alone in an arm's runs: it computes other scores, trains on changed
// labels, or does not train.
type Task struct {
	// Plan describes in a line what the task adds to the settings. It is written to plan.yaml, so
	// that runs of the same settings without the task are not taken for it.
	Plan string
	// Do does a run. Its result has the scores that the experiment measures.
	Do func(ctx context.Context, cfg run.Config, opts run.Options) (*run.Result, error)
	// Judge, instead of Do, adds scores to a run of run.Train, which may come from another
	// experiment (Options.Reuse).
	Judge func(ctx context.Context, res *run.Result) (*run.Result, error)
	// Timed tells that Do reports the time of the run.
	Timed bool
}

// newMaterialTask is a task on the data set of a run's configuration.
func newMaterialTask(plan string, do func(ctx context.Context, m *material, opts run.Options) (*run.Result,
	error)) *Task {
	return &Task{Plan: plan, Do: func(ctx context.Context, cfg run.Config, opts run.Options) (*run.Result, error) {
		m, err := openMaterial(ctx, cfg, opts)
		if err != nil {
			return nil, err
		}
		defer m.set.Close()
		return do(ctx, m, opts)
	}}
}

// taskMark begins the line of Task.Plan in plan.yaml.
const taskMark = "# task: "

// planText is the text of plan.yaml.
func (a *Arm) planText(cfg *run.Config) string {
	text := string(cfg.YAML())
	if a.Task != nil {
		text += taskMark + a.Task.Plan + "\n"
	}
	return text
}

// runTask does a run of the arm.
func (a *Arm) runTask(ctx context.Context, cfg run.Config, opts run.Options) (*run.Result, error) {
	if a.Task == nil {
		return run.Train(ctx, cfg, opts)
	}
	began := time.Now()
	do := a.Task.Do
	if a.Task.Judge != nil {
		do = func(ctx context.Context, cfg run.Config, opts run.Options) (*run.Result, error) {
			res, err := run.Train(ctx, cfg, opts)
			if err != nil {
				return nil, err
			}
			return a.Task.Judge(ctx, res)
		}
	}
	res, err := do(ctx, cfg, opts)
	if err == nil && !a.Task.Timed {
		res.Duration = time.Since(began) // with the additional trainings
	}
	return res, err
}

// addScores adds scores to those of a run's kept network.
func addScores(res *run.Result, more []train.Metric) *run.Result {
	last := res.LastEpoch()
	if res.Scores == nil {
		res.Scores = last.Metrics
	}
	res.Scores = slices.Concat(res.Scores, more)
	last.Metrics = slices.Concat(last.Metrics, more)
	return res
}

// untrainedResult is the result of a run without training.
func untrainedResult(scores []train.Metric) *run.Result {
	return &run.Result{History: []train.Epoch{{Metrics: scores}}, Scores: scores}
}

// material is a data set whose labels a task changes.
type material struct {
	set   *data.Dataset // only for the task, which may add columns
	cfg   run.Config    // selects the same samples for every label
	train *data.Part    // what cfg trains on
}

// openMaterial opens the data set of a configuration. The caller closes the result.
func openMaterial(ctx context.Context, cfg run.Config, opts run.Options) (*material, error) {
	d, err := cfg.Data.Open(ctx, opts.Home)
	if err != nil {
		return nil, err
	}
	m := &material{set: d, cfg: cfg}
	m.train, err = m.trainingPart()
	if err != nil {
		d.Close()
		return nil, err
	}
	return m, nil
}

// trainingPart is the part that cfg trains on.
func (m *material) trainingPart() (*data.Part, error) {
	sel, err := m.selected()
	if err != nil {
		return nil, err
	}
	return firstPerClass(sel.Train, m.cfg.Data.TrainLimit), nil
}

// firstPerClass keeps the first n samples of every fine class; 0 keeps all.
func firstPerClass(p *data.Part, n int) *data.Part {
	if n == 0 {
		return p
	}
	taken := map[int64]int{}
	var keep []int
	for pos, y := range p.Fine {
		if taken[y]++; taken[y] <= n {
			keep = append(keep, pos)
		}
	}
	return p.Subset(keep)
}

func (m *material) selected() (*split.Parts, error) {
	c := &m.cfg.Data
	return split.Select(context.Background(), m.set, split.Selection{Label: c.Label, Fine: c.Fine, Split: c.Split,
		TrainClasses: c.TrainClasses,
		TestClasses:  c.TestClasses, Validation: c.Validation, Fold: c.Fold, Group: c.Group,
		Seed: m.cfg.Train.Seed})
}

// withLabels returns the material with other labels of the training samples: of[p] is the label of
// position p, among classes. Test samples keep their labels, which come after these.
func (m *material) withLabels(name string, of []int64, classes []string) (*material, error) {
	was, err := m.set.Labels(m.cfg.Data.Label)
	if err != nil {
		return nil, err
	}
	c := data.Column{Name: name, IDs: make([]int64, m.set.Len()), Classes: slices.Concat(classes, was.Classes)}
	for i, y := range was.IDs {
		c.IDs[i] = int64(len(classes)) + y
	}
	for p, i := range m.train.Index {
		c.IDs[i] = of[p]
	}
	return m.withColumn(c)
}

// withColumn adds a column and trains on it.
func (m *material) withColumn(c data.Column) (*material, error) {
	set := *m.set
	set.Columns = append(slices.Clone(set.Columns), c)
	out := &material{set: &set, cfg: m.cfg}
	out.cfg.Data.Label = c.Name
	var err error
	out.train, err = out.trainingPart()
	return out, err
}

// withSplit returns the material with a split of its own: it trains on the training samples at the
// positions p for which train(p) is true, and tests the samples tested.
func (m *material) withSplit(train func(p int) bool, tested []int) *material {
	d := *m.set
	d.Splits, d.Disjoint = make([]data.Split, d.Len()), false
	for _, i := range tested {
		d.Splits[i] = data.Test
	}
	for p, i := range m.train.Index {
		if train(p) {
			d.Splits[i] = data.Train
		}
	}
	out := &material{set: &d, cfg: m.cfg, train: m.train}
	c := &out.cfg.Data
	c.Split, c.TrainClasses, c.TestClasses, c.TrainLimit, c.Validation = "official", "", "", 0, "none"
	return out
}

// trainOn trains on the material.
func (m *material) trainOn(ctx context.Context, opts run.Options) (*run.Result, error) {
	opts.Dataset = m.set
	return run.Train(ctx, m.cfg, opts)
}

// withoutEvents returns the options of an additional training of a run.
func withoutEvents(opts run.Options) run.Options {
	return run.Options{Home: opts.Home, Weights: opts.Weights}
}

// embed embeds the training samples with the network of a run.
func (m *material) embed(ctx context.Context, res *run.Result) (*run.Embeddings, error) {
	model := &run.Model{Config: res.Config, Net: res.Net}
	if model.Config.Network.Freeze != nil {
		model.Cache, _ = home.Features() // without a cache they are computed again
	}
	return model.EmbedPart(ctx, m.train)
}

// metrics returns scores of one set with a common heading.
func metrics(set, column string, values map[string]float64) []train.Metric {
	var out []train.Metric
	for name, v := range values {
		out = append(out, train.Metric{Set: set, Column: column, Name: name, Value: v})
	}
	slices.SortFunc(out, func(a, b train.Metric) int { return strings.Compare(a.Name, b.Name) })
	return out
}
