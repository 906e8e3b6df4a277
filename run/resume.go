package run

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// resume returns the checkpoint in the run's folder from which the run goes on, or nil without a checkpoint.
func (t *trainer) resume() (*train.Checkpoint, error) {
	p := t.plan
	from, err := t.folder().Checkpoint()
	if errors.Is(err, fs.ErrNotExist) && p.opts.Finish {
		return nil, t.nothingToFinishError()
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := t.checkConfig(from.Origin); err != nil {
		return nil, err
	}
	samples, base, _ := strings.Cut(from.Data, "+")
	if base != p.network.adapterBase {
		return nil, fmt.Errorf("%s: the weights that adapters are added to differ from those that the run started "+
			"with: resume with the same network.pretrained (%s)", from.Name, p.cfg.Network.Pretrained)
	}
	if what := changedSamples(samples, fingerprint(p.split.Train)); what != "" {
		return nil, &DataChangedError{from.Name, what}
	}
	switch done, epochs := from.Epoch, p.cfg.Train.Epochs; {
	case p.opts.Finish:
		return from, t.endAtCheckpoint(from)
	case done > epochs:
		return nil, fmt.Errorf("%s has done %d epochs, more than train.epochs=%d", p.opts.Dir, done, epochs)
	case done == epochs:
		p.notes.add("%s has finished all %d epochs: only its files are written again", p.opts.Dir, done)
	default:
		p.notes.add("%s continues in epoch %d after step %d of %d", p.opts.Dir, done+1, from.Step, p.schedule.steps)
		return from, t.noteRateChange(from.Origin)
	}
	return from, nil
}

// folder returns the run folder.
func (t *trainer) folder() *Folder { return &Folder{t.record.Dir} }

// noteRateChange says that the rate goes on differently because it falls to 0 over another number of epochs
// than before.
func (t *trainer) noteRateChange(o train.Origin) error {
	c := &t.plan.cfg.Train
	if c.Schedule != string(train.CosineRate) {
		return nil
	}
	was, err := Parse(record.ConfigFile, []byte(o.Settings))
	if err != nil {
		return err
	}
	before, how := was.Train.Epochs, "higher"
	switch {
	case c.Epochs == before:
		return nil
	case c.Epochs < before:
		how = "lower"
	}
	t.plan.notes.add("train.schedule is %s: the learning rate now falls to 0 over %d epochs, and not over %d, so it "+
		"goes on %s than before", c.Schedule, c.Epochs, before, how)
	return nil
}

// DataChangedError is the error of resuming a run with other data.
type DataChangedError struct {
	Checkpoint string // file of the checkpoint
	What       string // what differs
}

func (e *DataChangedError) Error() string {
	return fmt.Sprintf("%s: %s differ from those of the checkpoint: resume with the same data", e.Checkpoint, e.What)
}

// endAtCheckpoint makes the run end at its checkpoint.
func (t *trainer) endAtCheckpoint(from *train.Checkpoint) error {
	p := t.plan
	done := from.Epoch
	if from.Step > 0 {
		done++
	}
	if done == 0 {
		return t.nothingToFinishError()
	}
	p.cfg.Train.Epochs = done
	if from.Step > 0 {
		p.notes.add("%s ends in epoch %d after step %d of %d", p.opts.Dir, done, from.Step, p.schedule.steps)
	} else {
		p.notes.add("%s ends after epoch %d", p.opts.Dir, done)
	}
	return nil
}

func (t *trainer) nothingToFinishError() error {
	return option.Errorf("nothing to finish: the run in %s has taken no step: start it again with %s", t.plan.opts.Dir,
		record.OptResume.WithValue(t.plan.opts.Dir))
}

// checkConfig compares the configuration in the folder with the one that the checkpoint was
// trained with. If it was cut short or edited by hand, the run would go on with other settings.
func (t *trainer) checkConfig(o train.Origin) error {
	if o.Settings == "" {
		return fmt.Errorf("%s: the checkpoint lacks the configuration that it was trained with, because a version "+
			"that was never released wrote it: start the run again in another folder", t.plan.opts.Dir)
	}
	now, err := t.folder().configText()
	if err != nil {
		return err
	}
	diff, err := settingDifferences(now, []byte(o.Settings))
	if err != nil || diff == "" {
		return err
	}
	if o.Earlier != "" {
		if d, err := settingDifferences(now, []byte(o.Earlier)); err != nil || d == "" {
			return err
		}
	}
	return option.Errorf("%s differs from the configuration that the run was trained with: %s: restore it, or give "+
		"changes by %s",
		t.folder().ConfigPath(), diff, overrides)
}

// fingerprint identifies the training samples and their labels, so that a run is not resumed on
// other data. It covers names and the labels in use and, if the set has them, behind a dash all
// labels of each sample and the coarse labels, and behind featuresMark the ready features.
func fingerprint(p *data.Part) string {
	text := labelFingerprint(p)
	if features := p.Data.FeaturesDigest(p.Index); features != "" {
		text += featuresMark + features
	}
	return text
}

// changedSamples says what differs between two fingerprints, "" for nothing. One without features is of a version that
// did not look at them.
func changedSamples(was, now string) string {
	oldLabels, old, looked := strings.Cut(was, featuresMark)
	labels, features, _ := strings.Cut(now, featuresMark)
	switch {
	case oldLabels != labels:
		return "the training samples or their labels"
	case looked && old != features:
		return "the features of the training samples"
	}
	return ""
}

// featuresMark separates the digest of features from the rest of a fingerprint.
const featuresMark = "~"

func labelFingerprint(p *data.Part) string {
	labels, rest := sha256.New(), sha256.New()
	var b [16]byte
	for i, idx := range p.Index {
		labels.Write([]byte(p.Data.Names[idx]))
		binary.LittleEndian.PutUint64(b[:8], uint64(p.Label[i]))
		binary.LittleEndian.PutUint64(b[8:], uint64(p.Fine[i]))
		labels.Write(b[:])
	}
	text := hex.EncodeToString(labels.Sum(nil)[:8])
	coarse, err := p.Data.Column("coarse")
	if p.Data.MultiLabel == nil && err != nil {
		return text
	}
	for _, idx := range p.Index {
		if err == nil {
			binary.LittleEndian.PutUint64(b[:8], uint64(coarse.IDs[idx]))
			rest.Write(b[:8])
		}
		if p.Data.MultiLabel == nil {
			continue
		}
		for _, id := range p.Data.MultiLabel.Sets[idx] {
			binary.LittleEndian.PutUint64(b[:8], uint64(id))
			rest.Write(b[:8])
		}
		binary.LittleEndian.PutUint64(b[:8], 1<<63) // no label has this number
		rest.Write(b[:8])
	}
	return text + "-" + hex.EncodeToString(rest.Sum(nil)[:8])
}

// settingDifferences lists the settings in which two configurations differ, the first few by name; ""
// without a difference. Both are parsed, so that comments, order and keys left at their
// defaults make no difference.
func settingDifferences(now, was []byte) (string, error) {
	var values [2]map[string]string
	var keys []string
	for i, text := range [][]byte{now, was} {
		cfg, err := Parse(record.ConfigFile, text)
		if err != nil {
			return "", err
		}
		all, err := parseSettings(cfg.YAML())
		if err != nil {
			return "", err
		}
		values[i] = map[string]string{}
		for _, s := range all {
			if _, known := values[0][s.Key]; i == 0 || !known {
				keys = append(keys, s.Key)
			}
			values[i][s.Key] = s.Value
		}
	}
	const most = 3
	var out []string
	n := 0
	for _, k := range keys {
		if a, b := values[0][k], values[1][k]; a != b {
			if n++; n <= most {
				out = append(out, fmt.Sprintf("%s is %q there and was %q", k, a, b))
			}
		}
	}
	text := strings.Join(out, ", ")
	if n > most {
		text += fmt.Sprintf(", and %d more", n-most)
	}
	return text, nil
}
