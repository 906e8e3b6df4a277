package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/train"
)

// scratchEpochs is how many epochs a run from scratch has unless the configuration
// says.
const scratchEpochs = 10

// Length is Epochs or, if 0, the number of epochs of a run from scratch.
func (t *TrainConfig) Length() int { return cmp.Or(t.Epochs, scratchEpochs) }

// From a pretrained start the length of a run is counted in steps: an epoch of a small set is
// few of them, and a step does the same work whatever the set. docs/design/finetune.md has the
// measurements.
const (
	// fewClasses is below how many labels to train with the rate is lower if the test has
	// other classes: they are soon told apart, and what is learned then is of no use for others.
	fewClasses = 10
	// leastSteps is the number of steps that an epoch has at least.
	leastSteps = 8
	// averagedSteps is over how many steps weights are averaged.
	averagedSteps = 48
	// patientSteps and patientEvaluations are after how many steps, and evaluations, without
	// a higher score a run ends.
	patientSteps, patientEvaluations = 96, 4
	// At the latest a run ends after drawing a number of samples, about a quarter of an hour
	// for a small network on two cores, or after drawing each sample a number of times: from
	// then on a small set is learned by heart, which validation images of the same
	// classes do not show.
	drawnSamples = 100_000
	drawnTimes   = 32
	fewestEpochs = 4
	// usualLeast and usualMost are between how many steps patience has ended most runs on the
	// sets of docs/reproduction/defaults.md.
	usualLeast, usualMost = 104, 400
)

// Usual is after how many epochs runs like this one have ended, from and to, by patience;
// zero where none ends it.
func (s *Setup) Usual() (epochs [2]int) {
	t := &s.Config.Train
	if !t.endsEarly() || !s.Config.Network.pretrained() {
		return epochs
	}
	for i, steps := range []int{usualLeast, usualMost} {
		epochs[i] = (steps + s.Batches - 1) / max(s.Batches, 1)
	}
	return epochs
}

// leastRise is by how much the margin of an epoch must exceed that of the kept one: photos of
// other days have gained what there is to gain long before the margin stops creeping.
const leastRise = 0.005

// endsEarly tells whether patience can end a run whose settings are resolved.
func (t *TrainConfig) endsEarly() bool {
	return t.Best != none && t.Patience > 0 && t.Patience < t.Epochs
}

// epochsFor is train.epochs, where it is open, from a pretrained start: for epochs that draw so
// many of a number of samples.
func epochsFor(drawn, samples int) int {
	return max(min(drawnSamples, drawnTimes*samples)/max(drawn, 1), fewestEpochs)
}

// unseen tells whether the test has none of the classes that train.
func unseen(sel *data.Selected) bool {
	in := map[int64]bool{}
	for _, y := range sel.Train.Fine {
		in[y] = true
	}
	return !slices.ContainsFunc(sel.Query.Fine, func(y int64) bool { return in[y] })
}

// patienceFor is train.patience, where it is open, from a pretrained start: for evaluations
// that are so many steps apart.
func patienceFor(steps int) int {
	return max((patientSteps+steps-1)/max(steps, 1), patientEvaluations)
}

// parseBudget reads train.budget, the time that training may take; 0 without a limit.
func parseBudget(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no length of time: write 90s, 10m or 1h30m", text)
	}
	return d, nil
}

// stepsWord ends a train.average that is a number of steps.
const stepsWord = " steps"

// parseAverage reads train.average: over how many epochs of the given number of steps weights are
// averaged; 0 for none.
func parseAverage(text string, steps int) (float64, error) {
	if text == "" || text == none {
		return 0, nil
	}
	number, inSteps := strings.CutSuffix(text, stepsWord)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("%q is neither a positive number of epochs, such as 3, nor one of steps, such as \"48 "+
			"steps\", nor %s", text, none)
	}
	if inSteps {
		v /= float64(steps)
	}
	return v, nil
}

// validated tells whether the validation part chooses the epoch that is kept.
func (c *Config) validated() bool { return strings.HasPrefix(c.Train.Best, ValidationSet.prefix()) }

// Best says which epoch is kept, by a resolved configuration.
func (c *Config) Best() train.Best {
	if c.Train.Best == none {
		return train.Best{}
	}
	b := train.Best{Metric: c.Train.Best, Smooth: c.Train.Smooth, Patience: c.Train.Patience}
	if c.Train.Best == marginKey || c.Train.Best == marginDistractorsKey {
		b.Rise = leastRise
	}
	return b
}
