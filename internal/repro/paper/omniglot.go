package paper

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// levi is the source of the experiments on easy positive sampling.
const levi = "Levi et al. 2021, \"Rethinking preventing class-collapsing in metric learning with margin-based " +
	"losses\", "

// method is a way to choose tuples, as the tables name it: the settings without
// easy positives. EPS changes only the positives.
type method struct {
	name string
	set  []string
	// ranges are what a sweep searches of its own settings, start the defaults of those that
	// set does not have.
	ranges, start []string
}

var none = math.NaN() // no published number

// The tuple methods of the EPS paper.
func methods() (trip, margin, ms method) {
	trip = method{"Trip+SH", []string{"loss.name=triplet", "loss.margin=0.2", "loss.distance=squared",
		"mine.positives=random", "mine.negatives=facenet"},
		[]string{"loss.margin={low: 0.05, high: 0.8, log: true}", "loss.distance=[squared, euclidean]"}, nil}
	margin = method{"Dist-Margin", []string{"loss.name=margin", "mine.positives=random", "mine.negatives=distance"},
		[]string{"loss.beta={low: 0.7, high: 1.4}", "loss.margin={low: 0.1, high: 0.4}"},
		[]string{"loss.beta=1.2", "loss.margin=0.2"}}
	ms = method{"MS", []string{"loss.name=multisimilarity", "mine.positives=ms", "mine.negatives=ms"},
		[]string{"loss.alpha={low: 1.0, high: 10.0, log: true}", "loss.beta={low: 10.0, high: 80.0, log: true}"},
		[]string{"loss.alpha=2", "loss.beta=50"}}
	return trip, margin, ms
}

// proxyRanges are what a sweep may try of ProxyNCA.
func proxyRanges() []string {
	return []string{"loss.scale={low: 1.0, high: 10.0, log: true}", "train.loss_lr={low: 0.001, high: 0.1, log: true}"}
}

// arm is the method as it is.
func (m method) arm(published ...float64) Arm {
	return Arm{Name: m.name, Set: m.set, Ranges: m.ranges, Start: m.start, Published: published}
}

// eps is the method with easy positives, compared with the method as it is.
func (m method) eps(published ...float64) Arm {
	return Arm{Name: "EPS+" + m.name, Set: slices.Concat(m.set, []string{"mine.positives=easy"}), Baseline: m.name,
		Ranges: m.ranges, Start: m.start, Published: published}
}

// omniglotBase is what all experiments on Omniglot share, evaluation included, so
// that each can take the others' finished runs (Options.Reuse). The test alphabets
// and the letters' labels stay out of training.
func omniglotBase() []string {
	return []string{
		"data.name=omniglot", "data.label=coarse", "data.fine=fine", "data.channels=1", "data.pixels=inverted",
		"network.dim=128", "network.normalize=true",
		"sample.classes=8", "sample.per_class=14",
		"train.optimizer=adam", "train.lr=0.002",
		"eval.recall=[1, 2, 4, 8]", "eval.metrics=[fine:nmi, label:nmi+30]", "eval.every=2",
	}
}

// omniglotMethods are the tuple methods as they are trained on Omniglot: triplets
// want half the learning rate of the others, with easy positives and without.
func omniglotMethods() (trip, margin, ms method) {
	trip, margin, ms = methods()
	trip.set = append(trip.set, "train.lr=0.001")
	return trip, margin, ms
}

// omniglotScales are the sizes that the Omniglot experiments are run in.
func omniglotScales() []Scale {
	return []Scale{
		{"small", "a Conv4 from scratch on 40 x 40 images, for two CPU cores; the paper fine-tunes an ImageNet " +
			"ResNet-50 on 80 x 80",
			[]string{"data.size=40", "data.augment=characters", "network.name=conv4", "train.epochs=8",
				"train.schedule=cosine"}},
		{"large", "a ResNet-18 from scratch on 80 x 80 images, for a machine with many cores",
			[]string{"data.size=80", "data.augment=characters", "network.name=resnet18", "network.stem=small",
				"train.epochs=30", "train.lr=0.001", "train.schedule=cosine"}},
		{"paper", "the paper's own setting: ResNet-50 on 80 x 80 images, Adam at 1e-5; give ImageNet's weights by " +
			"--set network.pretrained=FILE",
			[]string{"data.size=80", "data.channels=3", "data.pixels=imagenet", "network.name=resnet50",
				"network.stem=large", "train.epochs=60", "train.lr=0.00001", "sample.per_class=20"}},
	}
}

// omniglotHeld says what a sweep on Omniglot is scored on.
const omniglotHeld = "Training sees the names of twenty of the thirty background alphabets and is scored by how well " +
	"the letters of the other ten are found, as the test scores those of twenty further alphabets."

// omniglotSpace is what is searched at the small scale.
func omniglotSpace() *Space {
	return &Space{
		Scale: "small",
		Held:  omniglotHeld,
		Set:   []string{"data.train_limit=10", "data.test_limit=10", "train.epochs=6", "eval.metrics=[]"},
		Ranges: []string{
			"train.lr={low: 0.0005, high: 0.008, log: true}",
			"sample.classes=[4, 8]", "sample.per_class=[14, 28]",
		},
		Plan: []string{"folds: 3", "use: 1", "search: tpe", "stop: asha", "first: 2"},
	}
}

// omniglotKept says what is not chosen by the sweep of omniglotSpace.
const omniglotKept = "At the small scale the network, the augmentation, the schedule and the 8 epochs were not " +
	"chosen but kept from before, for all arms alike. The scale \"paper\" uses the paper's rate; nothing was tuned " +
	"for \"large\"."

// omniglotFast is a run of seconds: a few alphabets to train on, a few to test.
var omniglotFast = []string{
	"data.size=28", "data.augment=none", "network.width=32", "data.train_classes=1-240", "data.test_classes=965-1124",
	"data.test_limit=8",
	"train.epochs=4", "train.lr=0.002", "sample.classes=4", "sample.per_class=24", "sample.batches=40", "eval.every=2",
}

func omniglotMeasures() []Measure {
	return []Measure{
		{"test_recall@1", "R@1", "letters"}, {"test_recall@4", "R@4", "letters"}, {"test_nmi", "NMI", "letters"},
		{"test_label_recall@1", "R@1", "languages"}, {"test_label_recall@4", "R@4", "languages"},
		{"test_label_nmi+30", "NMI+", "languages"},
	}
}

// recalls drops the clusterings.
func recalls(m []Measure) []Measure {
	return slices.DeleteFunc(slices.Clone(m), func(m Measure) bool { return m.Name == "NMI" || m.Name == "NMI+" })
}

// Omniglot is table 3 of Levi et al. 2021, both halves.
func Omniglot() *Experiment {
	trip, margin, ms := omniglotMethods()
	numbers := func(letters, languages float64) []float64 {
		return []float64{letters, none, none, languages, none, none}
	}
	return &Experiment{
		Name:    "omniglot",
		Space:   omniglotSpace(),
		Title:   "Trained on alphabets only",
		Dataset: Dataset{Name: "omniglot", Title: "Omniglot", Images: 32460},
		Tuning:  omniglotKept,
		Source:  levi + "section 5.2, table 3",
		About: "A network is trained to tell the 30 background alphabets apart, but is never told which letter a " +
			"drawing shows. " +
			"It is tested on 20 other alphabets, once by letter and once by language. Methods that pull an alphabet " +
			"to one place lose its letters; " +
			"easy positive sampling (EPS) pulls each drawing only towards its nearest neighbour in the same alphabet.",
		Base:     omniglotBase(),
		Scales:   omniglotScales(),
		Fast:     omniglotFast,
		Measures: omniglotMeasures(),
		Arms: []Arm{
			trip.arm(numbers(49.4, 71.0)...),
			{Name: "ProxyNCA", Set: []string{"loss.name=proxynca"}, Published: numbers(49.1, 73.0),
				Ranges: proxyRanges()},
			margin.arm(numbers(49.4, 73.2)...),
			ms.arm(numbers(57.7, 78.8)...),
			trip.eps(numbers(68.4, 85.2)...),
			margin.eps(numbers(66.2, 83.0)...),
			ms.eps(numbers(68.7, 86.2)...),
		},
	}
}

// OmniglotEpochs is figure 5a of Levi et al. 2021.
func OmniglotEpochs() *Experiment {
	trip, margin, ms := omniglotMethods()
	e := Omniglot()
	e.Name, e.Title, e.Source = "omniglot-epochs", "Letters over the epochs", levi+"section 5.2, figure 5a"
	e.Space.Of = "omniglot"
	e.About = "Recall@1 of the letters over the epochs, for three ways of choosing tuples, with and without easy " +
		"positives. The papers' curves with EPS lie above the others from the first epochs on."
	e.Measures = recalls(omniglotMeasures())
	e.Arms = []Arm{trip.arm(), margin.arm(), ms.arm(), trip.eps(), margin.eps(), ms.eps()}
	return e
}

// OmniglotPositives is figure 5b of Levi et al. 2021.
func OmniglotPositives() *Experiment {
	_, margin, _ := omniglotMethods()
	e := Omniglot()
	e.Name, e.Title, e.Source = "omniglot-positives", "How many positives easy sampling needs",
		levi+"section 5.2.4, figure 5b"
	e.settingsOf("omniglot", "The arms with easy positives have those of EPS+Dist-Margin but for the batch, which "+
		"favours 27, the number that they were chosen with; the one without has those of Dist-Margin, batch "+
		"included. "+omniglotKept)
	e.About = "With EPS a drawing is pulled towards the nearest of the other drawings from its alphabet in the " +
		"batch. The more of them there are, the more likely it is that one shows the same letter. " +
		"Recall@1 of the letters against the number of positives that an anchor has in a batch of 112; 0 stands for " +
		"no easy positives at all. As the batch size is fixed, more positives mean fewer alphabets."
	e.Measures = recalls(omniglotMeasures())
	e.Sweep = &Sweep{X: "positives of an anchor in the batch",
		Caption: "After the paper's figure 5b: Dist-Margin with easy positives; 0 is without them."}
	zero := margin.arm()
	zero.Name, zero.Tuned, zero.Series, zero.At = "without EPS", margin.name, "EPS+Dist-Margin", 0
	e.Arms = []Arm{zero}
	batches := [][2]int{{28, 4}, {16, 7}, {8, 14}, {4, 28}, {2, 56}}
	for _, b := range batches {
		a := margin.eps()
		a.Name = fmt.Sprintf("EPS, %d positives", b[1]-1)
		a.Tuned, a.Change = "EPS+"+margin.name, batchOf(b[0], b[1])
		a.Baseline, a.Series, a.At = zero.Name, "EPS+Dist-Margin", float64(b[1]-1)
		e.Arms = append(e.Arms, a)
	}
	// All alphabets, for the batches with many of them; the arms set the batch.
	e.Fast = append(withoutBatch(omniglotFast), "data.train_classes=", "data.train_limit=10", "sample.batches=40")
	e.Claims = []Claim{
		{Text: "The letters get better with every step from no easy positives to 27, with four alphabets or more in " +
			"the batch.", Check: rises(0, 27)},
		{Text: "They go on getting better to 55, with two alphabets in the batch.", Check: rises(27, 55)},
	}
	return e
}

// batchOf sets the batch.
func batchOf(classes, perClass int) []string {
	return []string{fmt.Sprintf("sample.classes=%d", classes), fmt.Sprintf("sample.per_class=%d", perClass)}
}

// rises checks that the letters get better with every step of the sweep from lo to
// hi.
func rises(lo, hi float64) func(context.Context, *Outcome) (string, []Paired) {
	return func(_ context.Context, out *Outcome) (string, []Paired) {
		const key = "test_recall@1"
		text, before := "Letters R@1:", ""
		var tests []Paired
		for _, a := range out.e.Arms {
			if a.At < lo || a.At > hi {
				continue
			}
			if before != "" {
				tests = append(tests, out.ahead(key, a.Name, before))
			}
			text += fmt.Sprintf(" %.1f with %g", out.mean(a.Name, key), a.At)
			before = a.Name
		}
		return text, tests
	}
}

// OmniglotTrain is table 4 of Levi et al. 2021.
func OmniglotTrain() *Experiment {
	trip, _, _ := omniglotMethods()
	e := Omniglot()
	e.Name, e.Title, e.Source = "omniglot-train", "Scored on the training alphabets", levi+"section 5.2.6, table 4"
	e.About = "The same measures on the alphabets used in training. Without EPS the training labels, the languages, " +
		"are learnt almost perfectly at the cost of the letters."
	e.Base = append(omniglotBase(), "eval.train=-1")
	e.Scales[0] = Scale{"small", "a Conv4 from scratch on 28 x 28 images of the first ten alphabets without " +
		"augmentation, which it can learn by heart in minutes on two CPU cores; the paper fine-tunes an ImageNet " +
		"ResNet-50 on 80 x 80",
		[]string{"data.size=28", "data.augment=none", "data.train_classes=1-300", "network.name=conv4",
			"train.epochs=30", "train.schedule=cosine", "eval.every=5"}}
	e.Tuning = "The network's input, the ten alphabets and the number of epochs of the small scale were chosen so " +
		"that the training languages are learnt by heart, which is one of the paper's statements below."
	e.Space = &Space{
		Scale: "small",
		Held: "Training sees the names of eight of the ten alphabets and is scored by how well the letters of the " +
			"other two are found.",
		Set: []string{"train.epochs=10", "eval.train=0", "eval.metrics=[]"},
		Ranges: []string{"train.lr={low: 0.0003, high: 0.01, log: true}",
			"sample.classes=[4, 8]", "sample.per_class=[14, 28]"},
		Start: true,
		Plan:  []string{"folds: 5", "use: 2", "search: random", "stop: never"},
	}
	e.Measures = []Measure{
		{"train_label_recall@1", "R@1", "languages, training set"}, {"train_recall@1", "R@1", "letters, training set"},
		{"test_label_recall@1", "R@1", "languages"}, {"test_recall@1", "R@1", "letters"},
	}
	e.Arms = []Arm{trip.arm(99.9, 70.3, none, none), trip.eps(94.5, 77.5, none, none)}
	e.Claims = []Claim{{
		Text: "Without EPS the training languages are fitted almost perfectly.",
		Check: func(_ context.Context, out *Outcome) (string, []Paired) {
			const almost = 98
			m := out.measure("Trip+SH", "train_label_recall@1")
			return fmt.Sprintf("Languages R@1 %.1f on the training set, to be above %d", m.Mean, almost),
				[]Paired{against(m.Values, almost)}
		},
	}}
	return e
}

// Trimmed is figure 4 of Levi et al. 2021.
func Trimmed() *Experiment {
	trip, margin, _ := omniglotMethods()
	e := Omniglot()
	e.Name, e.Title, e.Source = "trimmed", "Leaving out the tuples with the highest loss",
		levi+"section 5.2.5, figure 4"
	e.settingsOf("omniglot", "A method has the same ones however much is trimmed. "+omniglotKept)
	e.About = "One answer to noisy labels is to back-propagate only the tuples with the lowest loss. The paper finds " +
		"that this gains little on Omniglot's letters: " +
		"what helps is the choice of the positive."
	e.Measures = recalls(omniglotMeasures())
	e.Sweep = &Sweep{X: "share of a batch's tuples left out", Caption: "After the paper's figure 4."}
	e.Arms = nil
	for _, m := range []method{trip, margin} {
		for _, trim := range []float64{0, 0.1, 0.3, 0.5} {
			a := m.arm()
			a.Series, a.At = m.name, trim
			if trim > 0 {
				a.Name = fmt.Sprintf("%s, trim %g", m.name, trim)
				a.Tuned, a.Change, a.Baseline = m.name, []string{fmt.Sprintf("loss.trim=%g", trim)}, m.name
			}
			e.Arms = append(e.Arms, a)
		}
		e.Arms = append(e.Arms, m.eps())
	}
	e.Claims = []Claim{{
		Text: "The best trimming gains less than easy positives do.",
		Check: func(_ context.Context, out *Outcome) (string, []Paired) {
			const key = "test_recall@1"
			var text []string
			var tests []Paired
			for _, m := range []string{"Trip+SH", "Dist-Margin"} {
				best := math.Inf(-1)
				for _, a := range out.e.Arms {
					if a.Series == m && a.At > 0 {
						best = max(best, out.mean(a.Name, key))
						tests = append(tests, out.ahead(key, "EPS+"+m, a.Name))
					}
				}
				text = append(text, fmt.Sprintf("%s: letters R@1 %.1f, trimmed at best %.1f, with EPS %.1f", m,
					out.mean(m, key), best, out.mean("EPS+"+m, key)))
			}
			return strings.Join(text, "; "), tests
		},
	}}
	return e
}
