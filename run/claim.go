package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/base/option"
)

// Begun reports whether dir is the folder of a run, finished or not, that
// Options.Resume can continue or Options.Force replace.
func Begun(dir string) bool {
	c, err := look(dir, nil)
	return err == nil && c.run()
}

// contents is what a folder holds, by name.
type contents struct {
	config, checkpoints, checkpoint bool
	results                         []string // other files that a run writes
	foreign                         []string // all else
}

// run tells whether the folder is a run's. Both marks are needed: a
// configuration alone may be the user's.
func (c *contents) run() bool { return c.config && c.checkpoints }

// blank tells whether a run may begin here. A run that was killed before it
// wrote its configuration left no more than the folder of its checkpoints.
func (c *contents) blank() bool {
	return !c.config && !c.checkpoint && len(c.results)+len(c.foreign) == 0
}

// resultName matches what a run writes beside its configuration and its
// checkpoint; keptName what is in snapshotDir.
var (
	resultName = regexp.MustCompile(
		`^(metrics\.csv|metrics\.jsonl|events\.out\.tfevents\.kindred|timing\.csv|model\.safetensors|model\.json|quantization\.json|report\.html|(seen_|train_|gallery_|validation_)?(embeddings\.npy|labels\.csv))$`)
	keptName = regexp.MustCompile(`^[0-9]{4,}_(test|seen|train|validation)_(embeddings\.npy|labels\.csv)$`)
)

// look lists a folder, but for the names in own.
func look(dir string, own []string) (*contents, error) {
	c := &contents{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == lock.FileName, slices.Contains(own, name):
		case name == configFile:
			c.config = true
		case name == checkpointDir && e.IsDir():
			c.checkpoints = true
			inside, err := os.ReadDir(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			for _, f := range inside {
				if f.Name() == checkpointFile {
					c.checkpoint = true
				} else {
					c.foreign = append(c.foreign, filepath.Join(name, f.Name()))
				}
			}
		case resultName.MatchString(name):
			c.results = append(c.results, name)
		case name == snapshotDir && e.IsDir():
			inside, err := os.ReadDir(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			for _, f := range inside {
				if p := filepath.Join(name, f.Name()); keptName.MatchString(f.Name()) {
					c.results = append(c.results, p)
				} else {
					c.foreign = append(c.foreign, p)
				}
			}
		default:
			c.foreign = append(c.foreign, name)
		}
	}
	return c, nil
}

// claim makes or finds the run folder, takes it for this process, and checks that
// the run may be there. The folder is returned also with an error, for messages.
func claim(o *Options) (f *Folder, held *lock.Held, err error) {
	f = &Folder{dir: o.Dir, files: o.files}
	switch {
	case o.Resume:
		_, err = os.Stat(o.Dir)
	case o.Free:
		f.dir, err = makeFree(o.Dir)
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
	return f, held, f.ready(o)
}

// ready makes a folder that is held ready for the run.
func (f *Folder) ready(o *Options) error {
	checkpoints := f.path(checkpointDir)
	if err := atomic.Clean(f.dir, checkpoints, f.path(snapshotDir)); err != nil {
		return err
	}
	c, err := look(f.dir, o.Own)
	if err != nil {
		return err
	}
	if o.Resume {
		return f.resumable(c)
	}
	if err := o.refuse(c); err != nil {
		return err
	}
	if !c.blank() {
		if err := f.clear(c); err != nil {
			return err
		}
	}
	return o.files.MkdirAll(checkpoints)
}

// refuse says why a new run may not begin in a folder with these contents, if so.
func (o *Options) refuse(c *contents) error {
	switch {
	case c.blank():
	case !c.run():
		return option.Errorf("%s is neither empty nor the folder of a run: it holds %s; choose another folder with %s",
			o.Dir, c.sample(), optDir)
	case !o.Force:
		return option.Errorf("%s holds a run already: continue it with %s, replace it with %s, or choose another "+
			"folder with %s", o.Dir, optResume.With(o.Dir), optForce, optDir)
	}
	return nil
}

// vacant looks whether a new run may begin in its folder, before data are read and
// features computed. It makes no folder; claim looks again.
func (o *Options) vacant() error {
	if o.Dir == "" || o.Resume || o.Free {
		return nil
	}
	if _, err := os.Stat(o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f := &Folder{dir: o.Dir}
	held, err := lock.Folder(o.Dir)
	if err != nil {
		return f.explain(err)
	}
	if err = atomic.Clean(o.Dir, f.path(checkpointDir), f.path(snapshotDir)); err == nil {
		var c *contents
		if c, err = look(o.Dir, o.Own); err == nil {
			err = o.refuse(c)
		}
	}
	return errors.Join(err, held.Release())
}

// makeFree makes base, or base-2 and so on if that is there, and returns its
// name. No two callers get the same.
func makeFree(base string) (string, error) {
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

// resumable checks that a folder holds a run to go on with. One without a
// checkpoint begins again, unless it has results, which would be lost.
func (f *Folder) resumable(c *contents) error {
	switch {
	case !c.run():
		return fmt.Errorf("nothing to resume: %s is not the folder of a run", f.dir)
	case c.checkpoint:
		return nil
	}
	for _, name := range c.results {
		if filepath.Dir(name) != snapshotDir {
			return fmt.Errorf("nothing to resume: there is no checkpoint %s, but the run's %s", f.CheckpointPath(),
				name)
		}
	}
	return nil
}

// sample names some of the files that are no run's.
func (c *contents) sample() string {
	found := slices.Concat(c.foreign, c.results)
	if c.config {
		found = append(found, configFile)
	}
	if c.checkpoint {
		found = append(found, filepath.Join(checkpointDir, checkpointFile))
	}
	const most = 3
	if len(found) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(found[:most], ", "), len(found)-most)
	}
	return strings.Join(found, ", ")
}

// clear removes the files of a run, and no others. The checkpoint goes first, so
// that what a kill leaves cannot be resumed half; the configuration stays until
// the new one replaces it, so that it can still be told for a run.
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
