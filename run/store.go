package run

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// record is the folder of a run that is written while the run goes on.
type record struct {
	*Folder
	tensorBoard bool
	timing      []timing
	events      events
	saved       int // epochs of the last checkpoint
}

// begin writes the resolved configuration, and what a kill after the checkpoint of an
// epoch may have left unwritten. Where the run goes on with other settings, they are
// written into the checkpoint first, so that a kill in between leaves no two files that
// contradict each other.
func (r *record) begin(config string, from *train.Checkpoint) error {
	if from != nil && from.Settings != "" && from.Settings != config {
		changed := *from
		changed.Settings, changed.Earlier = config, from.Settings
		if err := r.writeCheckpoint(&changed); err != nil {
			return err
		}
	}
	err := r.writeText(configFile, config)
	if err != nil || from == nil || from.Epoch == 0 {
		return err
	}
	r.saved = from.Epoch
	r.timing = readTiming(r.path(timingFile), from.Epoch)
	if err := r.writeTiming(); err != nil {
		return err
	}
	return r.writeMetrics(from.History)
}

// epoch writes a checkpoint with the files of the epoch that it may end, and calls between
// after the checkpoint. The times of an epoch are written before its checkpoint, because
// they cannot be computed again; its metrics after it, because they can.
func (r *record) epoch(c *train.Checkpoint, between func() error) error {
	ended := c.Epoch > r.saved
	if ended {
		row := c.History[c.Epoch-1]
		r.timing = append(r.timing, timing{row.Epoch, row.Took.Train, row.Took.Eval, row.Took.Samples})
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

func (r *record) writeCheckpoint(c *train.Checkpoint) error {
	return r.write(filepath.Join(checkpointDir, checkpointFile), c.Write)
}

func (r *record) writeMetrics(history []train.Epoch) error {
	err := r.write(metricsFile, func(w io.Writer) error { return writeHistory(w, history) })
	if err != nil {
		return err
	}
	err = r.write(linesFile, func(w io.Writer) error { return writeLines(w, history) })
	if err != nil || !r.tensorBoard {
		return err
	}
	return r.events.write(r.Folder, history, r.timing)
}

func (r *record) writeTiming() error {
	return r.write(timingFile, func(w io.Writer) error { return writeTiming(w, r.timing) })
}

// Save keeps a checkpoint and writes the results that it makes final.
func (t *trainer) Save(c *train.Checkpoint) error {
	if c.Trained && c.Returned {
		// It has been embedded to compare it, and what is left takes a moment.
		if err := t.fallBack(context.Background()); err != nil {
			return err
		}
	}
	if t.fellBack {
		changed := *c
		changed.Settings, changed.Earlier = string(t.cfg.YAML()), c.Settings
		c = &changed
	}
	return t.record.epoch(c, func() error {
		if !c.Trained {
			return nil
		}
		if err := t.saveModel(); err != nil || !t.fellBack {
			return err
		}
		return t.record.writeText(configFile, string(t.cfg.YAML()))
	})
}

// saveModel writes the network.
func (t *trainer) saveModel() error {
	t.modelSaved = true
	describePreparation(t.net, &t.cfg)
	if t.record == nil {
		return nil
	}
	return t.net.SaveWith(t.record.write)
}

// describePreparation puts among the remarks of a network's description how its input is prepared.
func describePreparation(net *nn.Net, cfg *Config) {
	net.Spec().Meta = map[string]string{
		"pixels": cfg.Data.Pixels, "channels": strconv.Itoa(cfg.Data.Channels),
		"loss": fmt.Sprint(cfg.Loss["name"]), "distance": cfg.Eval.Distance,
	}
}
