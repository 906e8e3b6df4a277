package console

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Meter shows the progress of work whose total is known: on a terminal as one line that is
// redrawn, elsewhere as a line now and then, which suits a log. Several goroutines may use
// it.
type Meter struct {
	mu       sync.Mutex
	w        io.Writer
	what     string
	unit     func(n int64) string
	terminal bool
	every    time.Duration // the least time between two lines
	begun    time.Time
	told     time.Time
	width    int // of the line on the terminal
}

// The times between two lines of a meter.
const (
	redrawInterval = 100 * time.Millisecond
	logInterval    = 10 * time.Second
)

// NewMeter returns a meter of what, whose numbers are printed by unit.
func (a *Console) NewMeter(what string, unit func(n int64) string) *Meter {
	m := &Meter{w: a.Terminal(), what: what, unit: unit, terminal: a.IsTerminal(), every: logInterval,
		begun: time.Now()}
	if m.terminal {
		m.every = redrawInterval
	}
	m.told = m.begun // work that ends at once prints no line
	return m
}

// Bytes and Count are units of a meter.
func Bytes(n int64) string { return budget.Format(n) }
func Count(n int64) string { return strconv.FormatInt(n, 10) }

// ShowCount is Show for numbers of things.
func (m *Meter) ShowCount(done, total int) { m.Show(int64(done), int64(total)) }

// ShowStage is ShowCount for a named part of the work.
func (m *Meter) ShowStage(what string, done, total int) { m.ShowPiece(what, int64(done), int64(total)) }

// ShowPiece is Show for one of several things in a row.
func (m *Meter) ShowPiece(what string, done, total int64) {
	m.mu.Lock()
	m.what = what
	m.mu.Unlock()
	m.Show(done, total)
}

// Show shows that done of total is done; a total of 0 is unknown.
func (m *Meter) Show(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.told) < m.every {
		return
	}
	m.told = time.Now()
	text := fmt.Sprintf("%s: %s", m.what, m.unit(done))
	if total > 0 {
		text += " of " + m.unit(total)
	}
	if done > 0 && total > done {
		left := time.Duration(float64(time.Since(m.begun)) / float64(done) * float64(total-done))
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if !m.terminal {
		fmt.Fprintln(m.w, text)
		return
	}
	fmt.Fprintf(m.w, "\r%-*s", m.width, text)
	m.width = len(text)
}

// Close wipes the line from the terminal.
func (m *Meter) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.width > 0 {
		fmt.Fprintf(m.w, "\r%s\r", strings.Repeat(" ", m.width))
		m.width = 0
	}
}
