package run

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/kindred-ml/kindred/train"
)

// Save keeps a checkpoint and writes the results that it makes final. The times of an epoch
// are written before its checkpoint, because they cannot be computed again; its metrics
// after it, because they can.
func (t *trainer) Save(c *train.Checkpoint) error {
	if c.Trained && c.Best != nil && c.Best.Epoch == 0 {
		t.fallBack()
	}
	if t.fellBack {
		changed := *c
		changed.Settings, changed.Earlier = string(t.cfg.YAML()), c.Settings
		c = &changed
	}
	ended := c.Epoch > t.saved
	if ended {
		row := c.History[c.Epoch-1]
		t.timing = append(t.timing, timing{row.Epoch, row.Took.Train, row.Took.Eval, row.Took.Samples})
		if err := t.writeTiming(); err != nil {
			return err
		}
	}
	if err := t.writeCheckpoint(c); err != nil {
		return err
	}
	if c.Trained {
		if err := t.saveModel(); err != nil {
			return err
		}
		if t.fellBack {
			if err := t.folder.writeText(configFile, string(t.cfg.YAML())); err != nil {
				return err
			}
		}
	}
	if !ended {
		return nil
	}
	t.saved = c.Epoch
	return t.writeMetrics(c.History)
}

// saveModel writes the network, with how its input is prepared among the
// description's remarks.
func (t *trainer) saveModel() error {
	t.net.Spec().Meta = map[string]string{
		"pixels": t.cfg.Data.Pixels, "channels": strconv.Itoa(t.cfg.Data.Channels),
		"loss": fmt.Sprint(t.cfg.Loss["name"]), "distance": t.cfg.Eval.Distance,
	}
	t.modelSaved = true
	if t.folder == nil {
		return nil
	}
	return t.net.SaveWith(t.folder.write)
}

func (t *trainer) writeCheckpoint(c *train.Checkpoint) error {
	return t.folder.write(filepath.Join(checkpointDir, checkpointFile), c.Write)
}

func (t *trainer) writeMetrics(history []train.Epoch) error {
	err := t.folder.write(metricsFile, func(w io.Writer) error { return writeHistory(w, history) })
	if err != nil {
		return err
	}
	err = t.folder.write(linesFile, func(w io.Writer) error { return writeLines(w, history) })
	if err != nil || !t.cfg.Train.TensorBoard {
		return err
	}
	return t.events.write(t.folder, history, t.timing)
}

func (t *trainer) writeTiming() error {
	return t.folder.write(timingFile, func(w io.Writer) error { return writeTiming(w, t.timing) })
}
