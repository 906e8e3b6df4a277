package record

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/format/tfevents"
	"github.com/kindred-ml/kindred/train"
)

// writeHistory writes metrics.csv: a line for each epoch, and a column for every metric that
// any epoch has. Values are exact. Times are in timing.csv, so that runs can be compared byte by
// byte.
func writeHistory(w io.Writer, history []train.Epoch) error {
	var header []string
	for _, c := range epochColumns(&train.Epoch{}) {
		header = append(header, c.name)
	}
	fixed := len(header)
	for _, e := range history {
		for _, m := range e.Metrics {
			if k := m.Key(); !slices.Contains(header[fixed:], k) {
				header = append(header, k)
			}
		}
	}
	cw := csv.NewWriter(w)
	if err := cw.Write(header); err != nil {
		return err
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, e := range history {
		var row []string
		for _, c := range epochColumns(&e)[:fixed] {
			switch v := c.value.(type) {
			case int:
				row = append(row, strconv.Itoa(v))
			case float64:
				row = append(row, number(v))
			}
		}
		for _, k := range header[fixed:] {
			text := ""
			if v, err := e.Metric(k); err == nil {
				text = number(v)
			}
			row = append(row, text)
		}
		if err := cw.Write(row); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}

// column is a number of an epoch with its name in metrics.csv.
type column struct {
	name  string
	value any // a float64 or an int
}

// epochColumns returns the numbers of an epoch, scores last.
func epochColumns(e *train.Epoch) []column {
	n := float64(max(e.Steps, 1))
	out := []column{{"epoch", e.Epoch}, {"steps", e.Steps}, {"lr", e.LR}, {"loss", e.Loss / n}, {"gradient",
		e.Gradient / n}, {"tuples", e.Tuples}, {"active", e.Active}, {"anchors", e.Anchors}, {"no_positive",
		e.NoPositive}, {"no_negative", e.NoNegative}, {"no_candidate", e.NoCandidate}, {"fallbacks", e.Fallbacks}}
	for _, m := range e.Metrics {
		out = append(out, column{m.Key(), m.Value})
	}
	return out
}

// writeLines writes metrics.jsonl: a line with a JSON object for every epoch, with the values of
// metrics.csv under the same names. Missing values are left out.
func writeLines(w io.Writer, history []train.Epoch) error {
	for i := range history {
		line := []byte{'{'}
		for k, c := range epochColumns(&history[i]) {
			name, err := json.Marshal(c.name)
			if err != nil {
				return err
			}
			value, err := json.Marshal(c.value)
			if err != nil {
				return err
			}
			if k > 0 {
				line = append(line, ',')
			}
			line = append(append(append(line, name...), ':'), value...)
		}
		if _, err := w.Write(append(line, '}', '\n')); err != nil {
			return err
		}
	}
	return nil
}

// epochTiming is a line of timing.csv: how long an epoch's steps and evaluation took
// in this process, and how many images it trained on.
type epochTiming struct {
	epoch       int
	train, eval time.Duration
	images      int
}

const timingHeader = "epoch,train_seconds,eval_seconds,images,images_per_second\n"

func writeTiming(w io.Writer, list []epochTiming) error {
	if _, err := io.WriteString(w, timingHeader); err != nil {
		return err
	}
	for _, t := range list {
		_, err := fmt.Fprintf(w, "%d,%.3f,%.3f,%d,%.1f\n", t.epoch, t.train.Seconds(), t.eval.Seconds(), t.images,
			float64(t.images)/max(t.train.Seconds(), 1e-3))
		if err != nil {
			return err
		}
	}
	return nil
}

// readTiming returns the lines of the first epochs in order, as far as they can be read. An
// unreadable time is no reason to fail.
func readTiming(path string, epochs int) []epochTiming {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return parseTiming(f, epochs)
}

// maxEpochSeconds is an upper bound of the seconds of an epoch: 30 years.
const maxEpochSeconds = 1e9

func parseTiming(r io.Reader, epochs int) []epochTiming {
	var list []epochTiming
	last := 0
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var t epochTiming
		var train, eval, rate float64
		n, _ := fmt.Sscanf(lines.Text(), "%d,%f,%f,%d,%f", &t.epoch, &train, &eval, &t.images, &rate)
		sane := train >= 0 && train < maxEpochSeconds && eval >= 0 && eval < maxEpochSeconds && t.images >= 0
		if n == 5 && sane && t.epoch > last && t.epoch <= epochs {
			last = t.epoch
			t.train, t.eval = time.Duration(train*1e9), time.Duration(eval*1e9)
			list = append(list, t)
		}
	}
	return list
}

// eventFile is the state of the file for TensorBoard. Like metrics.csv, the file is written again
// when a process begins. Then it grows in place, because TensorBoard holds it open and reads
// what is added.
type eventFile struct {
	startTime time.Time // time of the first epoch; other times count from it
	written   int       // number of epochs; 0 if this process has not written the file yet
	size      int64
}

// write adds the epochs that the file lacks.
func (v *eventFile) write(d Dir, history []train.Epoch, times []epochTiming) error {
	took := map[int]time.Duration{}
	total := time.Duration(0)
	for _, t := range times {
		total += t.train + t.eval
		took[t.epoch] = total
	}
	if v.written == 0 {
		v.startTime = time.Now().Add(-total)
		text := tfevents.AppendHeader(nil, v.startTime)
		for i := range history {
			text = appendEpoch(text, v.startTime.Add(took[history[i].Epoch]), &history[i])
		}
		v.written, v.size = len(history), int64(len(text))
		return d.Write(EventsFile, atomic.Bytes(text))
	}
	var text []byte
	for i := v.written; i < len(history); i++ {
		text = appendEpoch(text, v.startTime.Add(took[history[i].Epoch]), &history[i])
	}
	if err := v.appendText(d.Join(EventsFile), text); err != nil {
		return d.ExplainDiskFull(fmt.Errorf("the file for TensorBoard: %w", err))
	}
	v.written = len(history)
	return nil
}

// appendText writes text after what this process has written, over the remains of a failed write.
func (v *eventFile) appendText(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	n, err := file.WriteAt(text, v.size)
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		v.size += int64(n)
	}
	return err
}

// appendEpoch appends the numbers of an epoch, such as train/loss, and its scores, such as
// test/recall@1.
func appendEpoch(to []byte, at time.Time, e *train.Epoch) []byte {
	var scalars []tfevents.Scalar
	of := len(epochColumns(e)) - len(e.Metrics)
	for _, c := range epochColumns(e)[1:of] {
		s := tfevents.Scalar{Tag: "train/" + c.name}
		switch x := c.value.(type) {
		case int:
			s.Value = float64(x)
		case float64:
			s.Value = x
		}
		scalars = append(scalars, s)
	}
	for _, m := range e.Metrics {
		tag := m.Set + "/" + strings.TrimPrefix(m.Key(), m.Set+"_")
		scalars = append(scalars, tfevents.Scalar{Tag: tag, Value: m.Value})
	}
	return tfevents.AppendScalars(to, at, int64(e.Epoch), scalars)
}
