// Package progress shows the progress of a training run, as one line on a
// terminal.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/kindred-ml/kindred/train"
)

// Bar draws a progress bar for each epoch, with images a second, the loss, the
// share of active tuples and the time left for the whole run.
type Bar struct {
	// Pace prints, after the first steps, how long an epoch takes.
	Pace bool
	// UsualEpochs is the range of epochs after which runs like this one have ended; zero if they
	// do all their epochs.
	UsualEpochs [2]int

	w        io.Writer
	name     string
	plain    bool // not a terminal: print lines only
	stopping bool // a signal stops the run, and nothing more is drawn
	bar      *progressbar.ProgressBar
	epoch    int
	loss     float64 // smoothed
	last     time.Time
	// first is the time of the first step, from which the rate is measured.
	first      time.Time
	firstSteps int
	paced      bool
	warned     map[string]bool // warnings already printed, without their numbers
}

// The times between two drawings of a bar, and between two lines without a
// terminal.
const (
	redrawInterval = 100 * time.Millisecond
	logInterval    = time.Minute
)

// New returns a bar on w. If w is not a terminal, it prints no bar, but a line per epoch, and
// a line per minute in longer epochs. name is printed before the epoch.
func New(w io.Writer, name string) *Bar {
	f, ok := w.(*os.File)
	return &Bar{w: w, name: name, plain: !ok || !term.IsTerminal(int(f.Fd())), last: time.Now()}
}

// Note prints remarks about the run.
func (b *Bar) Note(notes []string) {
	for _, note := range notes {
		fmt.Fprintf(b.w, "%snote: %s\n", b.name, note)
	}
}

// Observe is an observer of train.Config.
func (b *Bar) Observe(e train.Event) {
	switch e.Stage {
	case train.Stepped:
		if !b.stopping {
			b.step(e)
		}
	case train.Scoring:
		if b.bar != nil {
			b.bar.Describe(b.epochHeading(e) + " scoring")
		}
	case train.EpochEnd:
		b.clear()
		if e.Row.Timing.Samples > 0 { // without samples, the epoch has no pace
			b.pace(e.Row.Timing.Train/time.Duration(max(e.Steps, 1)), e)
		}
		b.last = time.Now()
		fmt.Fprintln(b.w, FormatEpoch(b.name, e))
		b.warn(e.Row)
	case train.Stopping:
		b.clear()
		b.stopping = true
		fmt.Fprintf(b.w, "%sstopping after the current step; a second signal ends it at once\n", b.name)
	}
}

// warn prints the warning of an epoch, unless it repeats an earlier one except for
// numbers. The summary of the run has all warnings.
func (b *Bar) warn(row *train.Epoch) {
	cause := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, row.Warning)
	if row.Warning == "" || b.warned[cause] {
		return
	}
	if b.warned == nil {
		b.warned = map[string]bool{}
	}
	b.warned[cause] = true
	fmt.Fprintf(b.w, "%swarning: epoch %d: %s\n", b.name, row.Epoch, row.Warning)
}

func (b *Bar) epochHeading(e train.Event) string {
	return fmt.Sprintf("%sepoch %d/%d", b.name, e.Epoch, e.Epochs)
}

func (b *Bar) step(e train.Event) {
	if !b.plain && (b.bar == nil || b.epoch != e.Epoch) {
		b.clear()
		b.epoch = e.Epoch
		b.bar = progressbar.NewOptions(e.Steps, progressbar.OptionSetWriter(b.w), progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish())
	}
	done := (e.Epoch-1)*e.Steps + e.Step
	if b.first.IsZero() {
		b.first, b.firstSteps, b.loss = time.Now(), done, e.Result.Value
	}
	b.loss += 0.05 * (e.Result.Value - b.loss)
	if moved := done - b.firstSteps; moved >= min(paceSteps, e.Steps-1) && moved > 0 {
		b.pace(time.Since(b.first)/time.Duration(moved), e)
	}
	every := redrawInterval
	if b.plain {
		every = logInterval
	}
	if time.Since(b.last) < every {
		return
	}
	b.last = time.Now()
	text := fmt.Sprintf("  %.0f img/s  loss %.4f  active %.0f%%", float64(e.Samples)/e.Elapsed.Seconds(), b.loss,
		100*float64(e.Result.Active)/float64(max(e.Result.Tuples, 1)))
	if moved := done - b.firstSteps; moved > 0 {
		left := time.Since(b.first) / time.Duration(moved) * time.Duration(e.Epochs*e.Steps-done)
		text += "  " + left.Round(time.Second).String() + " left"
	}
	if b.plain {
		fmt.Fprintf(b.w, "%s  step %d/%d%s\n", b.epochHeading(e), e.Step, e.Steps, text)
		return
	}
	b.bar.Describe(b.epochHeading(e) + text)
	// A bar that cannot be drawn must not stop the run.
	_ = b.bar.Set(e.Step)
}

// paceSteps is the number of steps after which the pace is printed.
const paceSteps = 5

// pace prints once how long an epoch takes with steps of the given length.
func (b *Bar) pace(step time.Duration, e train.Event) {
	if !b.Pace || b.paced {
		return
	}
	b.paced = true
	b.clear()
	epoch := step * time.Duration(e.Steps)
	text := fmt.Sprintf("%san epoch takes about %s of training", b.name, formatRounded(epoch))
	left := e.Epochs - e.Epoch + 1
	lo, hi := b.UsualEpochs[0]-e.Epoch+1, min(b.UsualEpochs[1]-e.Epoch+1, left)
	switch {
	case left > 1 && lo > 0 && lo < left:
		text += fmt.Sprintf(", the remaining %d take at most %s; runs like this have ended after %d to %d, in %s to %s",
			left, formatRounded(epoch*time.Duration(left)), b.UsualEpochs[0], hi+e.Epoch-1,
			formatRounded(epoch*time.Duration(lo)),
			formatRounded(epoch*time.Duration(hi)))
	case left > 1:
		text += fmt.Sprintf(", the remaining %d take %s", left, formatRounded(epoch*time.Duration(left)))
	}
	fmt.Fprintln(b.w, text)
}

// formatRounded returns a duration in a short form: 0.3s, 12s, 3m20s, 1h5m.
func formatRounded(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.2gs", max(d.Seconds(), 0.01))
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func (b *Bar) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
}

// FormatEpoch sums up an epoch that ended.
func FormatEpoch(name string, e train.Event) string {
	row := e.Row
	text := fmt.Sprintf("%sepoch %d/%d  loss %.4f  active %.0f%%", name, row.Epoch, e.Epochs, row.MeanLoss(),
		100*row.ActiveShare())
	for _, m := range row.Metrics {
		switch name, _, _ := strings.Cut(m.Name, "+"); name { // the main measures, and those that may choose the epoch
		case "recall@1":
			text += fmt.Sprintf("  %s %.1f", m.Key(), 100*m.Value)
		case "margin":
			text += fmt.Sprintf("  %s %.3f", m.Key(), m.Value)
		}
	}
	return text
}
