package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// lockFolder makes or finds the run folder, locks it for this process, and checks that the run may
// use it. The folder is returned even with an error, for messages.
func lockFolder(o *Options) (f *Folder, held *lock.Held, err error) {
	f = &Folder{dir: o.Dir, files: o.files}
	switch {
	case o.Resume:
		_, err = os.Stat(o.Dir)
	case o.UniqueDir:
		f.dir, err = makeUniqueDir(o.Dir)
	default:
		err = o.files.MkdirAll(o.Dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil, fmt.Errorf("nothing to resume: there is no folder %s", o.Dir)
	} else if err != nil {
		return f, nil, err
	}
	if held, err = lock.Folder(f.dir); err != nil {
		return f, nil, err
	}
	return f, held, f.prepare(o)
}

// prepare prepares a locked folder for the run.
func (f *Folder) prepare(o *Options) error {
	checkpoints := f.path(checkpointDir)
	if err := atomic.Clean(f.dir, checkpoints, f.path(snapshotDir)); err != nil {
		return err
	}
	c, err := listFolder(f.dir, o.CallerFiles)
	if err != nil {
		return err
	}
	if o.Resume {
		return f.checkResumable(c)
	}
	if err := o.checkVacant(c); err != nil {
		return err
	}
	if !c.isVacant() {
		if err := f.clear(c); err != nil {
			return err
		}
	}
	return o.files.MkdirAll(checkpoints)
}

// checkVacant returns an error if a new run may not begin in a folder with these contents.
func (o *Options) checkVacant(c *contents) error {
	switch {
	case c.isVacant():
	case !c.isRun():
		return option.Errorf("%s is neither empty nor the folder of a run: it holds %s; choose another folder with %s",
			o.Dir, c.exampleFiles(), optDir)
	case !o.Force:
		return option.Errorf("%s holds a run already: continue it with %s, replace it with %s, or choose another "+
			"folder with %s", o.Dir, optResume.WithValue(o.Dir), optForce, optDir)
	}
	return nil
}

// checkVacantDir checks that a new run may begin in its folder, before data are read and features are
// computed. It makes no folder. claim checks again.
func (o *Options) checkVacantDir() error {
	if o.Dir == "" || o.Resume || o.UniqueDir {
		return nil
	}
	if _, err := os.Stat(o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f := &Folder{dir: o.Dir}
	held, err := lock.Folder(o.Dir)
	if err != nil {
		return f.explainDiskFull(err)
	}
	if err = atomic.Clean(o.Dir, f.path(checkpointDir), f.path(snapshotDir)); err == nil {
		var c *contents
		if c, err = listFolder(o.Dir, o.CallerFiles); err == nil {
			err = o.checkVacant(c)
		}
	}
	return errors.Join(err, held.Release())
}

// makeUniqueDir makes the folder base, or base-2 and so on if that exists, and returns its name. No
// two callers get the same folder.
func makeUniqueDir(base string) (string, error) {
	base = filepath.Clean(base)
	if err := os.MkdirAll(filepath.Dir(base), 0o777); err != nil {
		return "", err
	}
	dir := base
	for k := 2; ; k++ {
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = fmt.Sprintf("%s-%d", base, k)
	}
}

// clear removes the files of a run, and no others. It removes the checkpoint first, so that a
// run that is half removed cannot be resumed. The configuration stays until the new one
// replaces it, so that the folder is still recognised as a run's.
func (f *Folder) clear(c *contents) error {
	if err := f.files.Remove(f.CheckpointPath()); err != nil {
		return err
	}
	for _, name := range c.results {
		if err := f.files.Remove(f.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// recorder writes the folder of a run that is under way.
type recorder struct {
	*Folder
	tensorBoard bool
	timing      []epochTiming
	events      eventFile
	saved       int // number of epochs in the last checkpoint
}

// writeStart writes the resolved configuration, and the files that a kill after the checkpoint of
// an epoch may have left unwritten. If the run resumes with other settings, they are written
// into the checkpoint first, so that a kill in between leaves no contradicting files.
func (r *recorder) writeStart(cfg *Config, from *train.Checkpoint) error {
	config := string(cfg.YAML())
	if from != nil && from.Settings != "" && from.Settings != config {
		changed := *from
		changed.Settings, changed.Earlier = config, from.Settings
		if err := r.writeCheckpoint(&changed); err != nil {
			return err
		}
	}
	err := r.writeText(configFile, cfg.withDataPath())
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

// writeEpoch writes a checkpoint and, if it ends an epoch, the files of that epoch. It calls between
// after the checkpoint. The times of an epoch are written before its checkpoint, because they
// cannot be computed again. Its metrics are written after it, because they can.
func (r *recorder) writeEpoch(c *train.Checkpoint, between func() error) error {
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

func (r *recorder) writeCheckpoint(c *train.Checkpoint) error {
	return r.write(filepath.Join(checkpointDir, checkpointFile), c.Write)
}

func (r *recorder) writeMetrics(history []train.Epoch) error {
	err := r.write(metricsFile, func(w io.Writer) error { return writeHistory(w, history) })
	if err != nil {
		return err
	}
	err = r.write(metricsJSONFile, func(w io.Writer) error { return writeLines(w, history) })
	if err != nil || !r.tensorBoard {
		return err
	}
	return r.events.write(r.Folder, history, r.timing)
}

func (r *recorder) writeTiming() error {
	return r.write(timingFile, func(w io.Writer) error { return writeTiming(w, r.timing) })
}

// Save writes a checkpoint, and the network if the checkpoint ends the run.
func (t *trainer) Save(c *train.Checkpoint) error {
	if c.Trained && c.Returned {
		// The embeddings were computed for the comparison, so this takes a moment.
		if err := t.returnUntrained(context.Background()); err != nil {
			return err
		}
	}
	if t.keptUntrained {
		changed := *c
		changed.Settings, changed.Earlier = string(t.plan.cfg.YAML()), c.Settings
		c = &changed
	}
	return t.record.writeEpoch(c, func() error {
		if !c.Trained {
			return nil
		}
		if err := t.saveModel(); err != nil || !t.keptUntrained {
			return err
		}
		return t.record.writeText(configFile, t.plan.cfg.withDataPath())
	})
}

// saveModel writes the network.
func (t *trainer) saveModel() error {
	p := t.plan
	t.modelSaved = true
	describePreparation(p.network.net, &p.cfg)
	if t.record == nil {
		return nil
	}
	merged, err := p.network.net.MergeLoRA()
	if err != nil {
		return err
	}
	return merged.SaveWith(t.record.write)
}

// describePreparation adds the preparation of the input to the meta data of a network's description.
func describePreparation(net *nn.Net, cfg *Config) {
	net.Spec().Meta = map[string]string{
		"pixels": cfg.Data.Pixels, "channels": strconv.Itoa(cfg.Data.Channels),
		"loss": fmt.Sprint(cfg.Loss["name"]), "distance": cfg.Eval.Distance,
		"fit": cfg.Data.Fit, "chroma": cfg.Data.Chroma,
	}
	if name := cfg.Data.resampleFilter(); name != "" {
		net.Spec().Meta["resample"] = name
	}
	if cfg.Data.Colours == rawColours {
		net.Spec().Meta["colours"] = rawColours
	}
	if cfg.Data.Shorter > 0 {
		net.Spec().Meta["shorter"] = strconv.Itoa(cfg.Data.Shorter)
	}
}

// write replaces a file of the folder.
func (f *Folder) write(name string, write func(io.Writer) error) error {
	return f.explainDiskFull(f.files.Write(f.path(name), write))
}

func (f *Folder) writeText(name, text string) error {
	return f.write(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// writeEmbeddings writes NAMEembeddings.npy and NAMElabels.csv, and the network of the embeddings if it is known.
func (f *Folder) writeEmbeddings(name string, e *Embeddings, by embedding.Network) error {
	err := f.write(name+embeddingsSuffix, func(w io.Writer) error { return embedding.WriteNPY(w, e.X) })
	if err != nil {
		return err
	}
	if by.Fingerprint != "" {
		text, err := by.FileText(f.path(name + embeddingsSuffix))
		if err != nil {
			return err
		}
		if err := f.writeText(embedding.NetworkFile(name+embeddingsSuffix), string(text)); err != nil {
			return err
		}
	}
	return f.write(name+labelsSuffix, e.WriteLabels)
}

// writeSnapshot writes the embeddings of a set after an epoch.
func (f *Folder) writeSnapshot(epoch int, s Set, e *Embeddings) error {
	if err := f.files.MkdirAll(f.path(snapshotDir)); err != nil {
		return f.explainDiskFull(err)
	}
	return f.writeEmbeddings(filepath.Join(snapshotDir, fmt.Sprintf("%04d_%s_", epoch, s)), e, embedding.Network{})
}

// explainDiskFull adds advice to the error of a full disk.
func (f *Folder) explainDiskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		if Exists(f.dir) {
			return option.Errorf("%w: the disk is full; free some space, then continue with %s", err,
				optResume.WithValue(f.dir))
		}
		return fmt.Errorf("%w: the disk is full; free some space, then start again", err)
	}
	return err
}
