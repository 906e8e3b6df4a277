package paper

import (
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/run"
)

// cures sets ways to keep a class from collapsing side by side: choices of tuples,
// several centres for a class, losses with a neighbourhood of their own, and terms
// that spread the samples of a class or of the batch. The baseline, triplets with random
// positives, is what collapses.
func cures(name, what string, set run.Set, d Dataset, base, fast []string, measures []Measure) *Experiment {
	const baseline = "Triplet"
	triplet := []string{"loss.name=triplet", "loss.margin=0.2", "loss.distance=squared", "mine.negatives=facenet"}
	with := func(more ...string) []string { return slices.Concat(triplet, more) }
	e := &Experiment{
		Name: name, Title: "Cures of collapse side by side, " + what, Own: true, Dataset: d, Base: base, Fast: fast,
		Measures: measures,
		Source:   "kindred; each cure's paper stands in docs/losses and docs/policies",
		About: "Networks are trained with coarse labels only and scored by the fine ones, which the labels " +
			"do not name. Triplets with random positives pull all samples of a label to one place. Each " +
			"other arm is one cure: easy positives (EPS), multi-similarity's mining (MS), the two " +
			"together, several centres for a class (SoftTriple, sub-centre ArcFace), NCA and SupCon, " +
			"whose pull fades where a neighbour is near, the variance of the similarities within a class " +
			"held (intra-pair variance), and the variance of the batch held (VICReg's term). Missing are " +
			"SupCon's spread term, which needs two views of a sample in a batch, and DiVA's heads, which " +
			"need several embeddings of a sample.",
		Tuning: "All arms have the same learning rate, batch, network and number of epochs, which are those " +
			"of the other experiments on this data, and each loss its own paper's defaults. Nothing was " +
			"tuned for this table: an arm that its defaults suit badly is shown too weak.",
		Arms: []Arm{
			{Name: baseline, Set: with("mine.positives=random")},
			{Name: "EPS", Set: with("mine.positives=easy")},
			{Name: "MS", Set: []string{"loss.name=multisimilarity", "mine.positives=ms", "mine.negatives=ms"}},
			{Name: "EPS+MS", Set: []string{"loss.name=multisimilarity", "mine.positives=easy", "mine.negatives=ms"}},
			{Name: "SoftTriple", Set: []string{"loss.name=softtriple", "loss.centers=10"}},
			{Name: "Sub-centre ArcFace", Set: []string{"loss.name=subcenter-arcface", "loss.centers=10"}},
			{Name: "NCA", Set: []string{"loss.name=nca"}},
			{Name: "SupCon", Set: []string{"loss.name=supcon"}},
			{Name: "Triplet, intra-pair variance", Set: with("mine.positives=random",
				"loss.plus=[{name: intra-pair-variance, positives: all, negatives: all, weight: 1}]")},
			{Name: "Triplet, VICReg's variance", Set: with("mine.positives=random",
				"loss.plus=[{name: vicreg, positives: random, negatives: all, lambda: 0, nu: 0, gamma: 0.1}]")},
		},
	}
	for i := range e.Arms[1:] {
		a := &e.Arms[i+1]
		a.Baseline = baseline
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("%s keeps more of the fine classes than %s.", a.Name, baseline),
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				key := e.Measures[0].Key
				return fmt.Sprintf("R@1 %.1f against %.1f", out.mean(a.Name, key), out.mean(baseline, key)),
					[]Paired{out.ahead(key, a.Name, baseline)}
			},
		})
	}
	e.Pictures = func(ctx context.Context, out *Outcome, shown *Shown) error {
		var names []string
		for _, a := range out.Arms {
			names = append(names, a.Name)
		}
		told, err := out.diagnosis(ctx, set, "First seed. Classes are the coarse labels.", names...)
		if err != nil {
			return err
		}
		shown.Sections = append(shown.Sections, told)
		return nil
	}
	return e
}

// cureMeasures are fine and coarse Recall@1 and the clustering by fine classes.
func cureMeasures(prefix, fine, coarse string) []Measure {
	return []Measure{{prefix + "_recall@1", "R@1", fine}, {prefix + "_nmi", "NMI", fine},
		{prefix + "_label_recall@1", "R@1", coarse}}
}

// CuresOmniglot compares cures on alphabets.
func CuresOmniglot() *Experiment {
	base := append(omniglotBase(), "eval.metrics=[fine:nmi]", "train.lr=0.001")
	e := cures("cures", "by alphabets", run.TestSet, Dataset{Name: "omniglot", Title: "Omniglot", Images: 32460}, base,
		append(slices.Clone(omniglotFast), "train.lr=0.001"), cureMeasures("test", "letters", "languages"))
	e.Scales = omniglotScales()
	return e
}

// CuresMNIST compares cures on the parity of digits.
func CuresMNIST() *Experiment {
	base := []string{"data.name=mnist", "data.size=28", "data.label=parity", "data.fine=digit",
		"data.train_classes=0-5", "data.test_classes=6-9",
		"network.name=mnist", "network.dim=16", "network.normalize=true", "sample.classes=2", "sample.per_class=32",
		"train.optimizer=adam", "train.lr=0.001", "train.schedule=cosine", "train.epochs=6",
		"eval.recall=[1]", "eval.metrics=[fine:nmi]", "eval.every=6"}
	e := cures("cures-mnist", "by parity", run.SeenSet, Dataset{Name: "mnist", Title: "MNIST", Images: 70000}, base,
		[]string{"data.train_limit=300", "data.test_limit=60", "train.epochs=2", "eval.every=2"},
		cureMeasures("seen", "digits 0-5", "parity, digits 0-5"))
	e.Measures = append(e.Measures, Measure{"test_recall@1", "R@1", "digits 6-9"})
	e.Scales = []Scale{
		{"small", "600 pictures of each digit to train on, for two CPU cores", []string{"data.train_limit=600"}},
		{"full", "all pictures of the digits 0-5", nil},
	}
	return e
}

// CuresBirds compares cures on groups of related birds.
func CuresBirds() *Experiment {
	base := []string{"data.name=cub100", "data.label=" + groupsRule(), "eval.recall=[1]", "eval.metrics=[fine:nmi]",
		"network.normalize=true", "sample.classes=8", "sample.per_class=14"}
	e := cures("cures-birds", "by groups of birds", run.TestSet,
		Dataset{Name: "cub100", Title: "100 species of CUB-200-2011", Images: 5902}, base,
		append(slices.Clone(photoFast), "sample.classes=4", "sample.per_class=8", "sample.batches=10",
			"data.train_limit=12"), cureMeasures("test", "species", "groups"))
	e.Scales = photoScales()[:2]
	return e
}
