package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/lock"
)

// runsDir holds the run folders of an experiment.
const runsDir = "runs"

// RunFolder is the folder of an arm's run with a seed, below the experiment's.
func RunFolder(arm string, seed uint64) string {
	return filepath.Join(runsDir, fmt.Sprintf("%s-seed%d", enum.FolderName(arm), seed))
}

// LockFolder makes or finds the folder of an experiment and locks it for this process until it is
// released. The folder must be empty or hold an experiment, so that no other file is replaced.
func LockFolder(dir string) (*lock.Held, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	held, err := lock.Folder(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(dir); err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return held, nil
}

func checkFolder(dir string) error {
	if err := atomic.Clean(dir); err != nil {
		return err
	}
	if plans, err := filepath.Glob(filepath.Join(dir, runsDir, "*", planFile)); err != nil || len(plans) > 0 {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != lock.FileName && name != runsDir {
			return fmt.Errorf("%s is neither empty nor the folder of an experiment: it holds %s; choose another with "+
				"--out", dir, name)
		}
	}
	return nil
}

// checkVacant checks that a run's folder is missing, or empty except for the leftovers of a killed
// process.
func checkVacant(dir string) error {
	if err := atomic.Clean(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("%s cannot become the folder of a run: it holds %s and no %s; choose another folder with --out",
		dir, entries[0].Name(), planFile)
}
