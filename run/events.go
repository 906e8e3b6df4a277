package run

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kindred-ml/kindred/internal/format/tfevents"
	"github.com/kindred-ml/kindred/train"
)

// events is the state of the file for TensorBoard. The file is written anew when
// a process begins, as metrics.csv is, and then grows in place: TensorBoard holds it
// open and reads what is added.
type events struct {
	began   time.Time // of the first epoch, by which the others' times go
	written int       // epochs; 0: the file is not this process's yet
	size    int64
}

// write adds the epochs that the file lacks.
func (v *events) write(f *Folder, history []train.Epoch, times []timing) error {
	took := map[int]time.Duration{}
	total := time.Duration(0)
	for _, t := range times {
		total += t.train + t.eval
		took[t.epoch] = total
	}
	if v.written == 0 {
		v.began = time.Now().Add(-total)
		text := tfevents.AppendHeader(nil, v.began)
		for i := range history {
			text = appendEpoch(text, v.began.Add(took[history[i].Epoch]), &history[i])
		}
		v.written, v.size = len(history), int64(len(text))
		return f.write(eventsFile, func(w io.Writer) error { _, err := w.Write(text); return err })
	}
	var text []byte
	for i := v.written; i < len(history); i++ {
		text = appendEpoch(text, v.began.Add(took[history[i].Epoch]), &history[i])
	}
	if err := v.append(f.path(eventsFile), text); err != nil {
		return f.explain(fmt.Errorf("the file for TensorBoard: %w", err))
	}
	v.written = len(history)
	return nil
}

// append writes text at the end of what this process has written, over the remains of a
// failed write.
func (v *events) append(path string, text []byte) error {
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

// appendEpoch appends the numbers of an epoch: train/loss and its like, and scores as
// test/recall@1.
func appendEpoch(to []byte, at time.Time, e *train.Epoch) []byte {
	var scalars []tfevents.Scalar
	of := len(columns(e)) - len(e.Metrics)
	for _, c := range columns(e)[1:of] {
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
		tag := m.Set + "/" + m.Name
		if m.Column != fineColumn {
			tag = m.Set + "/" + m.Column + "_" + m.Name
		}
		scalars = append(scalars, tfevents.Scalar{Tag: tag, Value: m.Value})
	}
	return tfevents.AppendScalars(to, at, int64(e.Epoch), scalars)
}
