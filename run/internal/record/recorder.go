package record

import (
	"io"
	"path/filepath"

	"github.com/kindred-ml/kindred/train"
)

// Recorder writes the folder of a run that is under way.
type Recorder struct {
	Dir
	TensorBoard bool // also write the epochs for TensorBoard
	timing      []epochTiming
	events      eventFile
	saved       int // number of epochs in the last checkpoint
}

// WriteStart writes the file of the resolved configuration, and the files that a kill after the checkpoint of
// an epoch may have left unwritten. If the run resumes with other settings, they are written
// into the checkpoint first, so that a kill in between leaves no contradicting files.
func (r *Recorder) WriteStart(config, file string, from *train.Checkpoint) error {
	if from != nil && from.Settings != "" && from.Settings != config {
		changed := *from
		changed.Settings, changed.Earlier = config, from.Settings
		if err := r.writeCheckpoint(&changed); err != nil {
			return err
		}
	}
	err := r.WriteText(ConfigFile, file)
	if err != nil || from == nil || from.Epoch == 0 {
		return err
	}
	r.saved = from.Epoch
	r.timing = readTiming(r.Join(TimingFile), from.Epoch)
	if err := r.writeTiming(); err != nil {
		return err
	}
	return r.writeMetrics(from.History)
}

// WriteEpoch writes a checkpoint and, if it ends an epoch, the files of that epoch. It calls between
// after the checkpoint. The times of an epoch are written before its checkpoint, because they
// cannot be computed again. Its metrics are written after it, because they can.
func (r *Recorder) WriteEpoch(c *train.Checkpoint, between func() error) error {
	ended := c.Epoch > r.saved
	if ended {
		row := c.History[c.Epoch-1]
		r.timing = append(r.timing, epochTiming{row.Epoch, row.Timing.Train, row.Timing.Eval, row.Timing.Samples})
		if err := r.writeTiming(); err != nil {
			return err
		}
	}
	if err := r.writeCheckpoint(c); err != nil {
		return err
	}
	if err := between(); err != nil || !ended {
		return err
	}
	r.saved = c.Epoch
	return r.writeMetrics(c.History)
}

func (r *Recorder) writeCheckpoint(c *train.Checkpoint) error {
	return r.Write(filepath.Join(CheckpointDir, CheckpointFile), c.Write)
}

func (r *Recorder) writeMetrics(history []train.Epoch) error {
	err := r.Write(MetricsFile, func(w io.Writer) error { return writeHistory(w, history) })
	if err != nil {
		return err
	}
	err = r.Write(MetricsJSONFile, func(w io.Writer) error { return writeLines(w, history) })
	if err != nil || !r.TensorBoard {
		return err
	}
	return r.events.write(r.Dir, history, r.timing)
}

func (r *Recorder) writeTiming() error {
	return r.Write(TimingFile, func(w io.Writer) error { return writeTiming(w, r.timing) })
}
