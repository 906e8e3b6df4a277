package run

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/train"
)

// schedule is the length of a run.
type schedule struct {
	scheduleFacts
	choosesWarmup bool // the recipe chooses the warm-up
}

// scheduleFacts are what the length depends on besides the configuration.
type scheduleFacts struct {
	fineTunes   bool // as in networkStart
	defaultLoss bool // as in lossChoice
	engine      bool // an engine changes the weights elsewhere
	steps       int  // of an epoch
	batch       int  // samples
	samples     int  // of the training part
}

// defaultLR returns the default of train.lr for the start, the loss, a frozen body and a training part of few classes.
func defaultLR(start *networkStart, l *lossChoice, frozen, few bool) float64 {
	switch {
	case !start.fineTunes:
		return 1e-3
	case frozen || l.isDefault && !few:
		return 3e-4
	case few && !l.isDefault:
		return 3e-5
	}
	return 1e-4
}

// defaultBest returns the default of train.best. The default loss takes MAP@R of the validation samples: a classifier
// draws every sample towards the classes that it trains, so that training samples are distractors that say less with
// every epoch. Other losses take the margin.
func defaultBest(parts *split.Parts, l *lossChoice) string {
	switch {
	case parts.Validation == nil:
		return none
	case parts.Validation != parts.ValidationGallery:
		return marginKey
	case l.isDefault:
		return validationMAPKey
	}
	return marginDistractorsKey
}

// settleSchedule settles the length of the run.
func settleSchedule(c *Config, f scheduleFacts) schedule {
	s, t := schedule{scheduleFacts: f}, &c.Train
	warmer := t.Epochs > 0 && t.Warmup >= float64(t.Epochs) // the rate would not begin to fall
	if t.Schedule == "" && (t.Minutes > 0 || f.defaultLoss && !warmer) {
		t.Schedule = string(train.CosineRate)
	}
	t.Schedule = cmp.Or(t.Schedule, string(train.ConstantRate))
	epochs := scratchEpochs
	if c.Network.isPretrained() {
		epochs = s.defaultEpochs(t.Schedule)
	}
	t.Epochs = cmp.Or(t.Epochs, epochs)
	if f.fineTunes && t.Minutes == 0 {
		t.Patience = cmp.Or(t.Patience, defaultPatience(f.steps*f.batch*c.Eval.Every))
	}
	if s.choosesWarmup = f.defaultLoss && t.Warmup == 0; s.choosesWarmup {
		t.Warmup = s.defaultWarmup(t.Epochs)
	}
	average := none
	if f.fineTunes && !f.engine {
		average = fmt.Sprint(numSteps(averageSamples, f.batch), stepsWord)
	}
	t.Average = cmp.Or(t.Average, average)
	return s
}

// defaultEpochs returns the default of train.epochs from a pretrained start, for a schedule of the rate.
func (s *schedule) defaultEpochs(rate string) int {
	return epochsForSamples(s.steps*s.batch, defaultSamples(rate, s.samples))
}

// endsAtZero reports whether the rate of the run falls to 0 over as many samples as the default length has. The last
// epoch is usually the best one then.
func (s *schedule) endsAtZero(t *TrainConfig) bool {
	return t.Schedule == string(train.CosineRate) && t.Epochs >= s.defaultEpochs(t.Schedule)
}

// defaultWarmup returns the epochs of warm-up of the default loss in a run of the given epochs: at most half of its
// steps.
func (s *schedule) defaultWarmup(epochs int) float64 {
	return float64(min(numSteps(warmupSamples, s.batch), epochs*s.steps/2)) / float64(s.steps)
}

// From a pretrained start the length of a run is counted in drawn samples, because an epoch of a small
// set draws few, and drawing as many takes as long on every set. docs/design/finetune.md has
// the measurements.
const (
	// fewClasses is the number of training labels below which the learning rate is lower if the
	// test has other classes. Few classes are soon told apart, and learning more about them does
	// not help with other classes.
	fewClasses = 10
	// warmupSamples is the number of samples over which the rate of the default loss grows. The first steps of Adam
	// have the full length of the rate in every weight, which a pretrained network loses its features by.
	warmupSamples = 2048
	// averageSamples is the number of samples over whose steps weights are averaged.
	averageSamples = 6144
	// A run ends after patienceSamples and patienceEvaluations without a higher score.
	patienceSamples, patienceEvaluations = 12288, 4
	// A run ends at the latest after drawing maxDrawnSamples, about a quarter of an hour for a small
	// network on two cores, or after drawing each sample a number of times: maxDrawnTimes, because from then on a small
	// set is learned by heart, which validation images of the same classes do not show, or decayDrawnTimes with a rate
	// that falls to 0, but then at least decayDrawnSamples.
	maxDrawnSamples                    = 100_000
	maxDrawnTimes                      = 32
	decayDrawnTimes, decayDrawnSamples = 12, 12288
	minEpochs                          = 4
	// usualMinSamples and usualMaxSamples are the range of samples after which patience has ended most runs
	// at a constant rate on the sets of docs/reproduction/defaults.md.
	usualMinSamples, usualMaxSamples = 13_300, 51_200
)

// defaultSamples returns the number of samples that a run from a pretrained start draws by default, with a
// schedule of the rate and a training part of the given size.
func defaultSamples(schedule string, samples int) int {
	most := min(maxDrawnSamples, maxDrawnTimes*samples)
	if schedule == string(train.CosineRate) {
		most = min(most, max(decayDrawnTimes*samples, decayDrawnSamples))
	}
	return most
}

// epochsForSamples returns the default of train.epochs from a pretrained start: as many as draw about the
// given number of samples. An epoch draws drawn samples.
func epochsForSamples(drawn, samples int) int {
	return max(samples/max(drawn, 1), minEpochs)
}

// defaultPatience returns the default of train.patience from a pretrained start, for evaluations
// between which the given number of samples is drawn.
func defaultPatience(drawn int) int {
	return max((patienceSamples+drawn-1)/max(drawn, 1), patienceEvaluations)
}

// hasFewClasses reports whether few labels train and the test has no class of the training part. What is learned then
// helps little with other classes.
func hasFewClasses(parts *split.Parts) bool {
	return len(lists.Set(parts.Train.Label)) < fewClasses && hasOnlyUnseenClasses(parts)
}

// hasOnlyUnseenClasses reports whether the test has no class of the training part.
func hasOnlyUnseenClasses(sel *split.Parts) bool {
	in := lists.Set(sel.Train.Fine)
	return !slices.ContainsFunc(sel.Query.Fine, func(y int64) bool { return in[y] })
}
