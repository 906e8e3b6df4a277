package record

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
	"github.com/kindred-ml/kindred/nn"
)

// Claim says how a run wants to use a folder.
type Claim struct {
	Dir
	Unique      bool     // take another name if the folder exists
	Resume      bool     // go on with the run in it
	Force       bool     // replace the run in it
	CallerFiles []string // names of files that belong to the caller
}

// Lock makes or finds the folder, locks it for this process, and checks that the run may
// use it. The folder is returned even with an error, for messages.
func (o *Claim) Lock() (d Dir, held *lock.Held, err error) {
	d = o.Dir
	switch {
	case o.Resume:
		_, err = os.Stat(d.Path)
	case o.Unique:
		d.Path, err = makeUniqueDir(d.Path)
	default:
		err = d.Files.MkdirAll(d.Path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil, fmt.Errorf("nothing to resume: there is no folder %s", d.Path)
	} else if err != nil {
		return d, nil, err
	}
	if held, err = lock.Folder(d.Path); err != nil {
		return d, nil, err
	}
	return d, held, d.prepare(o)
}

// prepare prepares a locked folder for the run.
func (d Dir) prepare(o *Claim) error {
	checkpoints := d.Join(CheckpointDir)
	if err := atomic.Clean(d.Path, checkpoints, d.Join(SnapshotDir)); err != nil {
		return err
	}
	c, err := listFolder(d.Path, o.CallerFiles)
	if err != nil {
		return err
	}
	if o.Resume {
		return d.checkResumable(c)
	}
	if err := o.checkContents(c); err != nil {
		return err
	}
	if !c.isVacant() {
		if err := d.clear(c); err != nil {
			return err
		}
	}
	return d.Files.MkdirAll(checkpoints)
}

// checkContents returns an error if a new run may not begin in a folder with these contents.
func (o *Claim) checkContents(c *contents) error {
	switch {
	case c.isVacant():
	case !c.isRun():
		return option.Errorf("%s is neither empty nor the folder of a run: it holds %s; choose another folder with %s",
			o.Path, c.exampleFiles(), OptDir)
	case !o.Force:
		return option.Errorf("%s holds a run already: continue it with %s, replace it with %s, or choose another "+
			"folder with %s", o.Path, OptResume.WithValue(o.Path), OptForce, OptDir)
	}
	return nil
}

// CheckVacant checks that a new run may begin in its folder, before data are read and features are
// computed. It makes no folder. Lock checks again.
func (o *Claim) CheckVacant() error {
	if o.Path == "" || o.Resume || o.Unique {
		return nil
	}
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	held, err := lock.Folder(o.Path)
	if err != nil {
		return o.ExplainDiskFull(err)
	}
	if err = atomic.Clean(o.Path, o.Join(CheckpointDir), o.Join(SnapshotDir)); err == nil {
		var c *contents
		if c, err = listFolder(o.Path, o.CallerFiles); err == nil {
			err = o.checkContents(c)
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
func (d Dir) clear(c *contents) error {
	if err := d.Files.Remove(d.CheckpointPath()); err != nil {
		return err
	}
	for _, name := range c.results {
		if err := d.Files.Remove(d.Join(name)); err != nil {
			return err
		}
	}
	return nil
}

// Exists reports whether dir is the folder of a run, finished or not.
func Exists(dir string) bool {
	c, err := listFolder(dir, nil)
	return err == nil && c.isRun()
}

// contents lists the names of the files in a folder.
type contents struct {
	hasConfig, hasCheckpointDir, hasCheckpoint bool
	results                                    []string // other files that a run writes
	foreign                                    []string // files of others
}

// isRun reports whether the folder is a run's. Both marks are needed, because a configuration
// alone may be the user's.
func (c *contents) isRun() bool { return c.hasConfig && c.hasCheckpointDir }

// isVacant reports whether a run may begin here. A run that was killed before it wrote its
// configuration left only the folder of its checkpoints.
func (c *contents) isVacant() bool {
	return !c.hasConfig && !c.hasCheckpoint && len(c.results)+len(c.foreign) == 0
}

// resultFiles are the files that a run writes besides its configuration, its checkpoint and embeddings.
var resultFiles = []string{MetricsFile, MetricsJSONFile, EventsFile, TimingFile, nn.WeightsFile, nn.SpecFile,
	nn.QuantizationFile, ReportFile}

// setPattern matches the files of embeddings at the end of a run.
var setPattern = regexp.MustCompile(
	`^(seen_|train_|gallery_|validation_)?(embeddings\.npy|embeddings\.network\.json|labels\.csv)$`)

// listFolder lists a folder, without the names in kept, which belong to the caller.
func listFolder(dir string, kept []string) (*contents, error) {
	c := &contents{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	listInside := func(sub string, isOwn func(name string) bool) error {
		inside, err := os.ReadDir(filepath.Join(dir, sub))
		for _, f := range inside {
			if !isOwn(f.Name()) {
				c.foreign = append(c.foreign, filepath.Join(sub, f.Name()))
			}
		}
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == lock.FileName, slices.Contains(kept, name):
		case name == ConfigFile:
			c.hasConfig = true
		case name == CheckpointDir && e.IsDir():
			c.hasCheckpointDir = true
			err = listInside(name, func(file string) bool {
				c.hasCheckpoint = c.hasCheckpoint || file == CheckpointFile
				return file == CheckpointFile
			})
		case slices.Contains(resultFiles, name), setPattern.MatchString(name):
			c.results = append(c.results, name)
		case name == SnapshotDir && e.IsDir():
			err = listInside(name, func(file string) bool {
				own := snapshotPattern.MatchString(file)
				if own {
					c.results = append(c.results, filepath.Join(name, file))
				}
				return own
			})
		default:
			c.foreign = append(c.foreign, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checkResumable checks that a folder holds a run that can be resumed. A run without a checkpoint
// begins again, unless it has results, which would be lost.
func (d Dir) checkResumable(c *contents) error {
	switch {
	case !c.isRun():
		return fmt.Errorf("nothing to resume: %s is not the folder of a run", d.Path)
	case c.hasCheckpoint:
		return nil
	}
	for _, name := range c.results {
		if filepath.Dir(name) != SnapshotDir {
			return fmt.Errorf("nothing to resume: there is no checkpoint %s, but the run's %s", d.CheckpointPath(),
				name)
		}
	}
	return nil
}

// exampleFiles names some of the files that do not belong to a run.
func (c *contents) exampleFiles() string {
	found := slices.Concat(c.foreign, c.results)
	if c.hasConfig {
		found = append(found, ConfigFile)
	}
	if c.hasCheckpoint {
		found = append(found, filepath.Join(CheckpointDir, CheckpointFile))
	}
	const most = 3
	if len(found) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(found[:most], ", "), len(found)-most)
	}
	return strings.Join(found, ", ")
}
