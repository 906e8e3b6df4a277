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
	"github.com/kindred-ml/kindred/train"
)

// resume lets the run go on from the checkpoint in its folder, if there is one
// yet.
func (t *trainer) resume(c *train.Config) error {
	from, err := t.record.Checkpoint()
	if errors.Is(err, fs.ErrNotExist) && t.opts.Finish {
		return t.nothingToFinish()
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := t.checkConfig(from.Origin); err != nil {
		return err
	}
	if from.Data != c.Origin.Data {
		return fmt.Errorf("%s: the training samples or their labels are not those of the checkpoint", from.Name)
	}
	switch done, epochs := from.Epoch, c.Epochs; {
	case t.opts.Finish:
		if err := t.endAt(from, c); err != nil {
			return err
		}
	case done > epochs:
		return fmt.Errorf("%s has done %d epochs, more than train.epochs=%d", t.opts.Dir, done, epochs)
	case done == epochs:
		t.note("%s has ended: all %d epochs are done; its files are written again", t.opts.Dir, done)
	default:
		t.note("%s continues in epoch %d after step %d of %d", t.opts.Dir, done+1, from.Step, t.sampler.Batches())
	}
	c.From = from
	return nil
}

// endAt lets the run end where its checkpoint is.
func (t *trainer) endAt(from *train.Checkpoint, c *train.Config) error {
	done := from.Epoch
	if from.Step > 0 {
		done++
	}
	if done == 0 {
		return t.nothingToFinish()
	}
	t.cfg.Train.Epochs, c.Epochs, c.Finish = done, done, true
	c.Origin.Settings = string(t.cfg.YAML())
	if from.Step > 0 {
		t.note("%s ends in epoch %d after step %d of %d", t.opts.Dir, done, from.Step, t.sampler.Batches())
	} else {
		t.note("%s ends after epoch %d", t.opts.Dir, done)
	}
	return nil
}

func (t *trainer) nothingToFinish() error {
	return option.Errorf("nothing to finish: the run in %s has taken no step; %s begins it again", t.opts.Dir,
		optResume.With(t.opts.Dir))
}

// checkConfig compares the configuration in the folder with the one that the
// checkpoint was trained with: one that was cut short or edited by hand would
// otherwise go on as another run.
func (t *trainer) checkConfig(o train.Origin) error {
	if o.Settings == "" {
		return fmt.Errorf("%s: its checkpoint does not say what it was trained with, as those of versions that were "+
			"never released: start the run anew in another folder", t.opts.Dir)
	}
	now, err := t.record.configText()
	if err != nil {
		return err
	}
	diff, err := different(now, []byte(o.Settings))
	if err != nil || diff == "" {
		return err
	}
	if o.Earlier != "" {
		if d, err := different(now, []byte(o.Earlier)); err != nil || d == "" {
			return err
		}
	}
	return option.Errorf("%s is not what the run was trained with: %s; put it back, or ask for changes by %s",
		t.record.ConfigPath(), diff, overrides)
}

// fingerprint identifies the training samples and their labels, so that a run
// is not resumed on other data: names and the labels in use, and behind a dash,
// where the set has them, all labels of each sample and the coarse ones.
func fingerprint(p *data.Part) string {
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
	if p.Data.Several == nil && err != nil {
		return text
	}
	for _, idx := range p.Index {
		if err == nil {
			binary.LittleEndian.PutUint64(b[:8], uint64(coarse.IDs[idx]))
			rest.Write(b[:8])
		}
		if p.Data.Several == nil {
			continue
		}
		for _, id := range p.Data.Several.Sets[idx] {
			binary.LittleEndian.PutUint64(b[:8], uint64(id))
			rest.Write(b[:8])
		}
		binary.LittleEndian.PutUint64(b[:8], 1<<63) // no label's number
		rest.Write(b[:8])
	}
	return text + "-" + hex.EncodeToString(rest.Sum(nil)[:8])
}

// different says in which settings two configurations differ, the first few by
// name; "" if in none. Both are read as this program reads them, so that
// comments, order and keys left at their defaults make no difference.
func different(now, was []byte) (string, error) {
	var values [2]map[string]string
	var keys []string
	for i, text := range [][]byte{now, was} {
		cfg, err := Parse(configFile, text)
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

// asBegun fills in the keys that the configuration of a resumed run leaves unset, from the
// settings in its folder dir. Defaults computed again could differ from these: a pretrained
// start holds out a validation part, and its features choose the positives.
func (c *Config) asBegun(dir string) {
	f, err := Open(dir)
	if err != nil {
		return // taking the folder will say it
	}
	was, err := f.Config()
	if err != nil {
		return // likewise
	}
	table.TakeOver(c, &was)
}

// always is the Begun of keys for which zero means that the data or the start decide.
func always(_, _ *Config) bool { return true }

// sameSampler is the Begun of keys that the sampler fills in.
func sameSampler(now, was *Config) bool { return now.Sample.Name == was.Sample.Name }

// fromWeights is the Begun of keys for which zero is a value in a run from scratch: no
// limit on the epochs.
func fromWeights(_, was *Config) bool { return was.Network.pretrained() }
