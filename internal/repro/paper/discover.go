package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/train"
)

// kindsFound scores the kinds that package discover finds in the classes of an
// embedding by the fine classes, as means over the classes: normalised mutual
// information and adjusted Rand index, 0 for a class that is not divided, and the
// number of kinds over that of the fine classes.
func kindsFound(ctx context.Context, e *run.Embedded, set string) ([]train.Metric, error) {
	res, err := discover.Find(ctx, e.X, e.Label(), discover.Options{Resamples: -1})
	if err != nil {
		return nil, err
	}
	fine := e.Fine()
	var nmi, ari, found, there float64
	n := float64(len(res.Classes))
	for _, c := range res.Classes {
		var truth, kind []int64
		names := map[int64]bool{}
		for _, k := range c.Kinds {
			for _, i := range k.Rows {
				truth, kind = append(truth, fine[i]), append(kind, res.Kind[i])
				names[fine[i]] = true
			}
		}
		table, err := cluster.NewTable(truth, kind)
		if err != nil {
			return nil, err
		}
		nmi += table.NMI(cluster.Arithmetic) / n
		ari += table.ARI() / n
		found += float64(len(c.Kinds))
		there += float64(len(names))
	}
	return metrics(set, "kinds", map[string]float64{"nmi": nmi, "ari": ari, "found": found / there}), nil
}

// judgeKinds is the task of looking for kinds in a set that the run scores.
func judgeKinds(set run.Set) *Task {
	return &Task{
		Plan:  "kinds of the " + set.String() + " set",
		Judge: func(ctx context.Context, res *run.Result) (*run.Result, error) { return withKinds(ctx, res, set) },
	}
}

func withKinds(ctx context.Context, res *run.Result, set run.Set) (*run.Result, error) {
	e := res.Test
	if set == run.SeenSet {
		e = res.Seen
	}
	found, err := kindsFound(ctx, e, set.String())
	if err != nil {
		return nil, err
	}
	return scored(res, found), nil
}

// refine is the task of training twice: on the classes, and from scratch with the
// same settings on the kinds that the first network's embedding of the training
// samples falls into. The scores are the second network's.
func refine(set run.Set) *Task {
	return onData("trained again on the kinds found; kinds of the "+set.String()+" set",
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			kinds, err := m.kinds(ctx, opts)
			if err != nil {
				return nil, err
			}
			again, err := m.labelled("kinds found", kinds.Kind, kindNumbers(kinds))
			if err != nil {
				return nil, err
			}
			res, err := again.learn(ctx, opts)
			if err != nil {
				return nil, err
			}
			// The test's labels are still the classes.
			return withKinds(ctx, res, set)
		})
}

// twoLevel is the task of training twice as refine does, but the second time on the
// classes, in batches that hold several of the kinds of each.
func twoLevel(set run.Set, batch ...string) *Task {
	return onData("trained again in batches of the kinds found, "+strings.Join(batch, ", ")+
		"; kinds of the "+set.String()+" set",
		func(ctx context.Context, m *material, opts run.Options) (*run.Result, error) {
			kinds, err := m.kinds(ctx, opts)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(kinds.Classes, func(c discover.Class) bool { return len(c.Kinds) > 1 }) {
				res, err := m.learn(ctx, opts) // there is one level alone
				if err != nil {
					return nil, err
				}
				return withKinds(ctx, res, set)
			}
			again, err := m.hierarchy(kinds, set, batch)
			if err != nil {
				return nil, err
			}
			res, err := again.learn(ctx, opts)
			if err != nil {
				return nil, err
			}
			for _, list := range [][]train.Metric{res.Scores, res.Last().Metrics} {
				for k := range list {
					if list[k].Set == run.TestSet.String() { // the only one of the hierarchy
						list[k].Set = set.String()
					}
				}
			}
			found, err := kindsFound(ctx, res.Test, set.String())
			if err != nil {
				return nil, err
			}
			return scored(res, found), nil
		})
}

// hierarchy has the kinds as the fine classes of the training samples. The split is
// fixed, as it may go by the fine classes; the test is what set is.
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
	out := m.divided(func(int) bool { return true }, tested.Index)
	for p, i := range m.train.Index {
		fine.IDs[i] = kinds.Kind[p]
	}
	out.set.Columns = append(slices.Clone(m.set.Columns), fine, coarse)
	out.cfg, err = run.Parse("", out.cfg.YAML(), append([]string{"data.label=classes", "data.fine=kinds found",
		"sample.classes=0", "sample.name=hierarchical"}, batch...)...)
	if err != nil {
		return nil, err
	}
	out.train, err = out.chosen()
	return out, err
}

// kinds trains on the material and finds the kinds of its training samples.
func (m *material) kinds(ctx context.Context, opts run.Options) (*discover.Result, error) {
	first, err := m.learn(ctx, quietly(opts))
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
	return discover.Find(ctx, e.X, e.Label(), discover.Options{Resamples: -1})
}

// kindNumbers names kinds by their numbers.
func kindNumbers(res *discover.Result) []string {
	names := make([]string, 1+slices.Max(res.Kind))
	for k := range names {
		names[k] = fmt.Sprintf("kind %d", k)
	}
	return names
}

// criterionTuning says where discover's criterion is from.
const criterionTuning = "discover's criterion was chosen on the training alphabets of Omniglot and on MNIST with " +
	"other seeds (docs/design/discover.md)."

// discovery is an experiment on the kinds inside coarse labels. base and eps are the
// arms of another experiment, which a third joins that trains on the kinds found.
func discovery(name, title string, set run.Set, from *Experiment, base, eps Arm, kinds, classes string,
	batch ...string) *Experiment {
	e := &Experiment{
		Name: name, Title: title, Own: true, Dataset: from.Dataset, Scales: from.Scales, Fast: from.Fast,
		Source: "kindred, docs/discover.md",
		Base:   slices.Clone(from.Base),
		About: fmt.Sprintf("Networks are told the %[2]s only. discover divides every class of the %[3]s set "+
			"into kinds; "+
			"how well they agree with the %[1]s, which it never sees, is the mean over the %[2]s of the normalised "+
			"mutual information and of the adjusted Rand index, 0 where a class is not divided. \"Found\" is the "+
			"number of kinds in per cent of that of the %[1]s. The last two arms train again from scratch, with the "+
			"settings of the second: one on the kinds that were found in the training samples' embedding as "+
			"labels, the "+
			"other on the %[2]s, in batches that hold several kinds of each.",
			kinds, classes, set),
		Tuning: "The settings are those of the other experiments on this data. " + criterionTuning,
	}
	e.Space = from.Space.of(from.Name, from.Tuning+" "+criterionTuning)
	key := set.String()
	e.Measures = []Measure{{key + "_kinds_nmi", "NMI", "kinds"}, {key + "_kinds_ari", "ARI", "kinds"},
		{key + "_kinds_found", "found", "kinds"}, {key + "_recall@1", "R@1", kinds}}
	eps.Baseline, base.Baseline = base.Name, ""
	again := eps
	again.Name, again.Baseline = eps.Name+", on the kinds found", eps.Name
	levels := eps
	levels.Name, levels.Baseline = eps.Name+", in batches of the kinds found", eps.Name
	levels.Task, levels.Published = twoLevel(set, batch...), nil
	base.Task, eps.Task, again.Task = judgeKinds(set), judgeKinds(set), refine(set)
	base.Published, eps.Published, again.Published = nil, nil, nil
	again.Tuned, levels.Tuned = eps.Name, eps.Name
	e.Arms = []Arm{base, eps, again, levels}
	for _, m := range e.Measures[:2] {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("With easy positives the kinds found agree better with the %s (%s).", kinds, m.Name),
			Arms: []string{eps.Name, base.Name},
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				return fmt.Sprintf("%.1f against %.1f", out.mean(eps.Name, m.Key), out.mean(base.Name, m.Key)),
					[]Paired{out.ahead(m.Key, eps.Name, base.Name)}
			},
		})
	}
	for _, a := range []Arm{again, levels} {
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("%s raises the Recall@1 of the %s over %s.", a.Name, kinds, eps.Name),
			Arms: []string{a.Name, eps.Name},
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				k := key + "_recall@1"
				return fmt.Sprintf("%.1f against %.1f", out.mean(a.Name, k), out.mean(eps.Name, k)),
					[]Paired{out.ahead(k, a.Name, eps.Name)}
			},
		})
	}
	return e
}

// Discover looks for letters in alphabets, in the runs of Omniglot.
func Discover() *Experiment {
	_, margin, _ := omniglotMethods()
	from := Omniglot()
	e := discovery("discover", "Letters found in alphabets", run.TestSet, from, margin.arm(), margin.eps(),
		"letters", "alphabets", "sample.coarse=4", "sample.fine=4", "sample.per_class=7")
	e.Scales = from.Scales[:1]
	return e
}

// DiscoverMNIST looks for digits in even and odd, in the runs of MNIST.
func DiscoverMNIST() *Experiment {
	e := MNIST()
	out := discovery("discover-mnist", "Digits found in even and odd", run.SeenSet, e, e.Arms[0], e.Arms[1],
		"digits", "parities", "sample.coarse=2", "sample.fine=2", "sample.per_class=32")
	out.Seeds = e.Seeds
	return out
}

// DiscoverBirds looks for species in groups of related birds.
func DiscoverBirds() *Experiment {
	_, margin, _ := methods()
	from := Finetune()
	e := discovery("discover-birds", "Species found in groups of birds", run.TestSet, from, margin.arm(), margin.eps(),
		"species", "groups", "sample.coarse=8", "sample.fine=2", "sample.per_class=7")
	e.Pretrained = true
	e.Base = frozenBirds("images:0.3", "data.label="+groupsRule(), "sample.classes=8", "sample.per_class=14")
	e.Fast = frozenFast
	e.Space = &Space{
		Held: "Training sees the groups of two thirds of the photos that train and is scored by how well the species " +
			"are found among the rest, as the test does with further photos. Nothing but that score used the species.",
		Kept: "The network, the size of the images, the schedule and the 8 epochs were not chosen, and are the same " +
			"for all arms. " + criterionTuning,
		Ranges: []string{"train.lr={low: 0.0001, high: 0.01, log: true}", "sample.per_class=[4, 8, 14]"},
		Start:  true,
		Plan:   []string{"folds: images:3", "search: random", "stop: never"},
	}
	return e
}

// frozenBirds are the settings of a layer that is trained on the features of a
// pretrained network.
func frozenBirds(split string, more ...string) []string {
	return slices.Concat([]string{"data.name=cub100", "data.split=" + split, "network.dim=64", "eval.recall=[1]",
		"eval.every=8"}, frozenBody(), more)
}

// frozenBody are those that hold for whatever is trained on such features.
func frozenBody() []string {
	return []string{"data.size=128", "data.augment=none", "data.validation=none", "data.group=none",
		"network.freeze=body", "network.normalize=true", "train.optimizer=adam", "train.lr=0.001", "train.epochs=8",
		"train.schedule=cosine", "train.best=none", "train.average=none"}
}

// frozenFast is a run of seconds.
var frozenFast = []string{"data.size=64", "train.epochs=3", "data.train_limit=12", "data.test_limit=6", "eval.every=3"}
