package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/run"
)

// cured is what the experiments on cures differ in.
type cured struct {
	name, what string
	set        run.Set // that is diagnosed
	data       Dataset
	base, fast []string
	perClass   int      // samples of a label in a batch
	views      []string // further settings of the arms with two views of a sample
	measures   []Measure
	space      *Space
}

// collapsing is the arm of cures that all others are compared with.
const collapsing = "Triplet"

// cures sets ways to keep a class from collapsing side by side: choices of tuples,
// several centres for a class, losses with a neighbourhood of their own, and terms
// that spread the samples of a class or of the batch. The baseline, triplets with random
// positives, is what collapses.
func cures(c cured) *Experiment {
	e := &Experiment{
		Name: c.name, Title: "Cures of collapse side by side, " + c.what, Own: true, Dataset: c.data,
		Base: append(c.base, samplesOf(c.perClass)), Fast: c.fast, Measures: c.measures, Space: c.space,
		Source: "kindred; each cure's paper stands in docs/losses and docs/policies",
		About: "Networks are trained with coarse labels only and scored by the fine ones, which the labels " +
			"do not name. Triplets with random positives pull all samples of a label to one place. Each " +
			"other arm is one cure: easy positives (EPS), multi-similarity's mining (MS), the two " +
			"together, several centres for a class (SoftTriple, sub-centre ArcFace), NCA with easy " +
			"positives and hard negatives (EPHN), SupCon, the variance of the similarities within a class " +
			"held (intra-pair variance), the variance of the batch held (VICReg's term), SupCon with the spread " +
			"term, which keeps the two views of a picture nearer to each other than to the rest of its label " +
			"(SupCon with two views alone stands beside it), and DiVA's heads: half of the embedding learns " +
			"from the labels, a quarter from triplets of three labels and a quarter from triplets of one, " +
			"kept from telling the same. Two views are two rows of a batch for each of half as many pictures.",
		Tuning: "All arms have the same learning rate, batch, network and number of epochs, which are those " +
			"of the other experiments on this data, and each loss its own paper's defaults. Nothing was " +
			"tuned for this table: an arm that its defaults suit badly is shown too weak.",
		Arms: cureArms(c),
	}
	for i := range e.Arms[1:] {
		a := &e.Arms[i+1]
		a.Baseline = collapsing
		e.Claims = append(e.Claims, Claim{
			Arms: []string{collapsing, a.Name},
			Text: fmt.Sprintf("%s keeps more of the fine classes than %s.", a.Name, collapsing),
			Check: func(_ context.Context, out *Outcome) (string, []Paired) {
				key := e.Measures[0].Key
				return fmt.Sprintf("R@1 %.1f against %.1f", out.mean(a.Name, key), out.mean(collapsing, key)),
					[]Paired{out.ahead(key, a.Name, collapsing)}
			},
		})
	}
	e.Pictures = func(ctx context.Context, out *Outcome, shown *Shown) error {
		var names []string
		for _, a := range out.Arms {
			names = append(names, a.Name)
		}
		told, err := out.diagnosis(ctx, c.set, "First seed. Classes are the coarse labels.", names...)
		if err != nil {
			return err
		}
		shown.Sections = append(shown.Sections, told)
		return nil
	}
	return e
}

// cureArms are the ways, with what a sweep may try of each.
func cureArms(c cured) []Arm {
	_, _, multi := methods()
	triplet := []string{"loss.name=triplet", "loss.margin=0.2", "loss.distance=squared", "mine.negatives=facenet"}
	with := func(more ...string) []string { return slices.Concat(triplet, more) }
	// A pretrained start would choose the positives that an arm leaves open.
	all := func(set ...string) []string { return append(set, "mine.positives=all", "mine.negatives=all") }
	// Two rows of each of half as many samples: a batch has as many rows.
	twice := func(set ...string) []string {
		return slices.Concat(all("loss.name=supcon", "sample.views=2", samplesOf(c.perClass/2)), c.views, set)
	}
	plus := func(terms string) string { return "loss.plus=[" + terms + "]" }
	spread := func(weight string) string { return "{name: spread, weight: " + weight + "}" }
	variance := func(weight string) string {
		return "{name: intra-pair-variance, positives: all, negatives: all, weight: " + weight + "}"
	}
	vicreg := func(gamma string) string {
		return "{name: vicreg, positives: random, negatives: all, lambda: 0, nu: 0, gamma: " + gamma + "}"
	}
	// DiVA's further parts of the embedding; the authors' program gives them the weight 0.3.
	heads := func(weight string) string {
		const head = "{name: triplet, margin: 0.2, distance: squared, part: %s, triplets: %s, weight: %s}"
		return fmt.Sprintf(head+", "+head+", {name: decorrelate, parts: [2, 1, 1], weight: 12}", "3/4", "shared",
			weight, "4/4", "intra", weight)
	}
	// tried are the terms that a sweep chooses from.
	tried := func(terms func(string) string, values ...string) string {
		for i, v := range values {
			values[i] = "[" + terms(v) + "]"
		}
		return "loss.plus=[" + strings.Join(values, ", ") + "]"
	}
	const (
		margin      = "loss.margin={low: 0.05, high: 0.8, log: true}"
		distance    = "loss.distance=[squared, euclidean]"
		temperature = "loss.temperature={low: 0.05, high: 0.5, log: true}"
		centres     = "train.loss_lr={low: 0.001, high: 0.1, log: true}" // the rate they move with
		still       = "train.loss_lr=0.001"
	)
	warm := []string{"loss.temperature=0.1"}
	return []Arm{
		{Name: collapsing, Set: with("mine.positives=random"), Ranges: []string{margin, distance}},
		{Name: "EPS", Set: with("mine.positives=easy"), Ranges: []string{margin, distance}},
		{Name: "MS", Set: []string{"loss.name=multisimilarity", "mine.positives=ms", "mine.negatives=ms"},
			Ranges: multi.ranges, Start: multi.start},
		{Name: "EPS+MS", Set: []string{"loss.name=multisimilarity", "mine.positives=easy", "mine.negatives=ms"},
			Ranges: multi.ranges, Start: multi.start},
		{Name: "SoftTriple", Set: all("loss.name=softtriple", "loss.centers=10"),
			Ranges: []string{"loss.la={low: 5.0, high: 40.0, log: true}", centres},
			Start:  []string{"loss.la=20", still}},
		{Name: "Sub-centre ArcFace", Set: all("loss.name=subcenter-arcface", "loss.centers=10"),
			Ranges: []string{"loss.scale={low: 8.0, high: 64.0, log: true}", "loss.margin={low: 0.05, high: 0.5}",
				centres}, Start: []string{"loss.scale=64", "loss.margin=0.5", still}},
		{Name: "NCA", Set: []string{"loss.name=nca", "mine.positives=easy", "mine.negatives=hard"}},
		{Name: "SupCon", Set: all("loss.name=supcon"), Ranges: []string{temperature}, Start: warm},
		{Name: "SupCon, two views", Set: twice(), Ranges: []string{temperature}, Start: warm},
		{Name: "SupCon, spread", Set: twice(plus(spread("1"))),
			Ranges: []string{temperature, tried(spread, "0.25", "1", "4")}, Start: warm},
		{Name: "Triplet, intra-pair variance", Set: with("mine.positives=random", plus(variance("1"))),
			Ranges: []string{margin, distance, tried(variance, "0.25", "1", "4")}},
		{Name: "Triplet, VICReg's variance", Set: with("mine.positives=random", plus(vicreg("0.1"))),
			Ranges: []string{margin, distance, tried(vicreg, "0.03", "0.1", "0.3")}},
		{Name: "Triplet, DiVA's heads", Set: with("mine.positives=random", "loss.part=1/2", plus(heads("0.3"))),
			Ranges: []string{margin, distance, tried(heads, "0.1", "0.3", "1")}},
	}
}

// samplesOf sets the samples of a label in a batch.
func samplesOf(perClass int) string { return fmt.Sprintf("sample.per_class=%d", perClass) }

// cureMeasures are fine and coarse Recall@1 and the clustering by fine classes.
func cureMeasures(prefix, fine, coarse string) []Measure {
	return []Measure{{prefix + "_recall@1", "R@1", fine}, {prefix + "_nmi", "NMI", fine},
		{prefix + "_label_recall@1", "R@1", coarse}}
}

// CuresOmniglot compares cures on alphabets.
func CuresOmniglot() *Experiment {
	e := cures(cured{
		name: "cures", what: "by alphabets", set: run.TestSet, perClass: 14,
		data: Dataset{Name: "omniglot", Title: "Omniglot", Images: 32460},
		base: append(omniglotBase(), "eval.metrics=[fine:nmi]", "train.lr=0.001"),
		fast: append(slices.Clone(omniglotFast), "train.lr=0.001", "data.augment=characters"),

		measures: cureMeasures("test", "letters", "languages"),
		space: &Space{
			Scale: "quick",
			Held:  omniglotHeld,
			Kept: "The network, the batch, the augmentation, the schedule and the number of steps were not chosen " +
				"but kept from the other experiments on this data, for all arms alike.",
			Set:    []string{"data.test_limit=10", "eval.metrics=[]"},
			Ranges: []string{"train.lr={low: 0.0003, high: 0.01, log: true}"},
			Start:  true,
			Plan:   []string{"folds: 3", "use: 2", "search: random", "stop: never"},
		},
	})
	e.Scales = append([]Scale{{"quick", "a Conv4 from scratch on 28 x 28 images, 270 steps with products in " +
		"bfloat16, so that three seeds of all arms take a quarter of an hour of one core; no arm comes near what it " +
		"could reach",
		[]string{"data.size=28", "data.augment=characters", "network.name=conv4", "network.precision=bfloat16",
			"sample.batches=90", "train.epochs=3", "train.schedule=cosine", "eval.every=3"}}}, omniglotScales()...)
	return e
}

// CuresMNIST compares cures on the parity of digits.
func CuresMNIST() *Experiment {
	e := cures(cured{
		name: "cures-mnist", what: "by parity", set: run.SeenSet, perClass: 32,
		data: Dataset{Name: "mnist", Title: "MNIST", Images: 70000},
		base: []string{"data.name=mnist", "data.size=28", "data.label=parity", "data.fine=digit",
			"data.train_classes=0-5", "data.test_classes=6-9",
			"network.name=mnist", "network.dim=16", "network.normalize=true", "sample.classes=2",
			"train.optimizer=adam", "train.lr=0.001", "train.schedule=cosine", "train.epochs=6",
			"eval.recall=[1]", "eval.metrics=[fine:nmi]", "eval.every=6"},
		fast:     []string{"data.train_limit=300", "data.test_limit=60", "train.epochs=2", "eval.every=2"},
		views:    []string{"data.augment=characters"},
		measures: cureMeasures("seen", "digits 0-5", "parity, digits 0-5"),
		space: &Space{
			Scale: "small",
			Held: "Training sees the parity of one half of its pictures and is scored by how well the digits are " +
				"found in the other half. Nothing but that score used the digits' own labels.",
			Kept: "The network, the batch, the schedule and the 6 epochs were not chosen but kept from before, for " +
				"all arms alike.",
			Set:    []string{"eval.metrics=[]"},
			Ranges: []string{"train.lr={low: 0.0003, high: 0.01, log: true}"},
			Start:  true,
			Plan:   []string{"folds: images:2", "search: random", "stop: never"},
		},
	})
	e.Tuning += " Only the arms with two views have augmentation, without which the views would be one."
	e.Measures = append(e.Measures, Measure{"test_recall@1", "R@1", "digits 6-9"})
	e.Scales = []Scale{
		{"small", "600 pictures of each digit to train on, for two CPU cores", []string{"data.train_limit=600"}},
		{"full", "all pictures of the digits 0-5", nil},
	}
	return e
}

// CuresBirds compares cures on groups of related birds.
func CuresBirds() *Experiment {
	e := cures(cured{
		name: "cures-birds", what: "by groups of birds", set: run.TestSet, perClass: 14,
		data: birdSpecies(),
		base: []string{"data.name=cub100", "data.label=" + groupsRule(), "eval.recall=[1]", "eval.metrics=[fine:nmi]",
			"network.normalize=true", "sample.classes=8"},
		fast: append(slices.Clone(photoFast), "sample.classes=4", "sample.batches=10", "data.train_limit=12",
			"data.augment=light"),
		measures: cureMeasures("test", "species", "groups"),
	})
	e.Scales = append([]Scale{{"quick", "a network pretrained on ImageNet, which --set network.pretrained=FILE " +
		"names, trained for " +
		"two epochs of products in bfloat16 on 96 x 96 images; the last epoch is kept, as whoever has " +
		"coarse labels only cannot choose by the fine ones",
		[]string{"data.size=96", "data.validation=none", "network.precision=bfloat16", "sample.batches=27",
			"train.epochs=2", "train.best=none", "train.average=none", "eval.every=2"}}}, photoScales()[:2]...)
	for i := range e.Scales[1:] { // the arms set the batch
		e.Scales[i+1].Set = withoutBatch(e.Scales[i+1].Set)
	}
	return e
}
