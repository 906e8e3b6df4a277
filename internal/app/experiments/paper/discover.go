package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// scoreKinds scores the sub-classes that package discover finds, by the fine classes. Scores are
// means over the classes: normalised mutual information and adjusted Rand index (0 for a class that
// is not divided), and the number of sub-classes over the number of fine classes.
func scoreKinds(ctx context.Context, e *run.Embeddings, set string) ([]train.Metric, error) {
	res, err := discover.Find(ctx, e.X, e.Labels(), discover.Options{Resamples: -1})
	if err != nil {
		return nil, err
	}
	fine := e.FineLabels()
	var nmi, ari, found, there float64
	n := float64(len(res.Classes))
	for _, c := range res.Classes {
		var truth, kind []int64
		names := map[int64]bool{}
		for _, k := range c.SubClasses {
			for _, i := range k.Rows {
				truth, kind = append(truth, fine[i]), append(kind, res.SubClassOf[i])
				names[fine[i]] = true
			}
		}
		table, err := cluster.NewTable(truth, kind)
		if err != nil {
			return nil, err
		}
		nmi += table.NMI(cluster.Arithmetic) / n
		ari += table.ARI() / n
		found += float64(len(c.SubClasses))
		there += float64(len(names))
	}
	return metrics(set, "kinds", map[string]float64{"nmi": nmi, "ari": ari, "found": found / there}), nil
}

// kindsTask is the task of finding sub-classes in a set that the run scores.
func kindsTask(set run.Set) *Task {
	return &Task{
		Plan:  "kinds of the " + set.String() + " set",
		Judge: func(ctx context.Context, res *run.Result) (*run.Result, error) { return addKindScores(ctx, res, set) },
	}
}

func addKindScores(ctx context.Context, res *run.Result, set run.Set) (*run.Result, error) {
	e := res.Test
	if set == run.SeenSet {
		e = res.Seen
	}
	found, err := scoreKinds(ctx, e, set.String())
	if err != nil {
		return nil, err
	}
	return addScores(res, found), nil
}

// refineTask is the task of training twice with the same settings: on the classes, and then from
// scratch on the sub-classes that the first network finds in the training samples. The scores are
// those of the second network.
func refineTask(set run.Set) *Task {
	return newMaterialTask("trained again on the kinds found; kinds of the "+set.String()+" set",
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			kinds, err := m.findKinds(ctx, opts)
			if err != nil {
				return nil, err
			}
			again, err := m.withLabels("kinds found", kinds.SubClassOf, kindNumbers(kinds))
			if err != nil {
				return nil, err
			}
			res, err := again.trainOn(ctx, opts)
			if err != nil {
				return nil, err
			}
			// The test's labels are still the classes.
			return addKindScores(ctx, res, set)
		})
}

// twoLevelTask is the task of training twice, as refine does, but the second time on the classes, in
// batches that hold several sub-classes of each.
func twoLevelTask(set run.Set, batch ...string) *Task {
	return newMaterialTask("trained again in batches of the kinds found, "+strings.Join(batch, ", ")+
		"; kinds of the "+set.String()+" set",
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			kinds, err := m.findKinds(ctx, opts)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(kinds.Classes, func(c discover.Class) bool { return len(c.SubClasses) > 1 }) {
				res, err := m.trainOn(ctx, opts) // there is one level alone
				if err != nil {
					return nil, err
				}
				return addKindScores(ctx, res, set)
			}
			again, err := m.hierarchy(kinds, set, batch)
			if err != nil {
				return nil, err
			}
			res, err := again.trainOn(ctx, opts)
			if err != nil {
				return nil, err
			}
			for _, list := range [][]train.Metric{res.Scores, res.LastEpoch().Metrics} {
				for k := range list {
					if list[k].Set == run.TestSet.String() { // the only one of the hierarchy
						list[k].Set = set.String()
					}
				}
			}
			found, err := scoreKinds(ctx, res.Test, set.String())
			if err != nil {
				return nil, err
			}
			return addScores(res, found), nil
		})
}

// hierarchy returns material whose training samples have the sub-classes as fine classes. The split
// is fixed, because it may depend on the fine classes; the test is that of set.
func (m *material) hierarchy(kinds *discover.Result, set run.Set, batch []string) (*material, error) {
	was, err := m.set.Labels(m.cfg.Data.Fine)
	if err != nil {
		return nil, err
	}
	label, err := m.set.Labels(m.cfg.Data.Label)
	if err != nil {
		return nil, err
	}
	sel, err := m.selected()
	if err != nil {
		return nil, err
	}
	tested := sel.Query
	if set == run.SeenSet {
		tested = sel.Seen
	}
	names := kindNumbers(kinds)
	fine := data.Column{Name: "kinds found", IDs: make([]int64, m.set.Len()),
		Classes: slices.Concat(names, was.Classes)}
	for i, y := range was.IDs {
		fine.IDs[i] = int64(len(names)) + y
	}
	coarse := *label
	coarse.Name = "classes"
	out := m.withSplit(func(int) bool { return true }, tested.Index)
	for p, i := range m.train.Index {
		fine.IDs[i] = kinds.SubClassOf[p]
	}
	out.set.Columns = append(slices.Clone(m.set.Columns), fine, coarse)
	out.cfg, err = run.Parse("", out.cfg.YAML(), append([]string{"data.label=classes", "data.fine=kinds found",
		"sample.classes=0", "sample.name=hierarchical"}, batch...)...)
	if err != nil {
		return nil, err
	}
	out.train, err = out.trainingPart()
	return out, err
}

// findKinds trains on the material and finds the sub-classes of its training samples.
func (m *material) findKinds(ctx context.Context, opts run.Options) (*discover.Result, error) {
	first, err := m.trainOn(ctx, withoutEvents(opts))
	if err != nil {
		return nil, err
	}
	e, err := m.embed(ctx, first)
	if err != nil {
		return nil, err
	}
	if len(e.Pos) != m.train.Len() {
		return nil, fmt.Errorf("%d of %d samples could not be read", m.train.Len()-len(e.Pos), m.train.Len())
	}
	return discover.Find(ctx, e.X, e.Labels(), discover.Options{Resamples: -1})
}

// kindNumbers names sub-classes by their numbers.
func kindNumbers(res *discover.Result) []string {
	names := make([]string, 1+slices.Max(res.SubClassOf))
	for k := range names {
		names[k] = fmt.Sprintf("kind %d", k)
	}
	return names
}

// addKindClaims adds the statements on the sub-classes found, for arms with random positives, with
// easy positives, and trained again on the sub-classes or in batches of them.
func (e *Experiment) addKindClaims() {
	base, eps, recall := e.Arms[0], e.Arms[1], e.Measures[3]
	for _, m := range e.Measures[:2] {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("With easy positives the sub-classes found agree better with the %s (%s).", recall.Group,
				m.Name),
			Arms: []string{eps.Name, base.Name},
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				return fmt.Sprintf("%.1f against %.1f", out.meanPercent(eps.Name, m.Key),
						out.meanPercent(base.Name, m.Key)),
					[]PairedTest{out.compareArms(m.Key, eps.Name, base.Name)}
			},
		})
	}
	for _, a := range e.Arms[2:] {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("%s raises the Recall@1 of the %s over %s.", a.Name, recall.Group, eps.Name),
			Arms: []string{a.Name, eps.Name},
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				return fmt.Sprintf("%.1f against %.1f", out.meanPercent(a.Name, recall.Key),
						out.meanPercent(eps.Name, recall.Key)),
					[]PairedTest{out.compareArms(recall.Key, a.Name, eps.Name)}
			},
		})
	}
}
