package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// reuse copies a finished run of the arm from one of the experiments into a folder that does not
// exist yet; it returns nil if there is no such run. If the arm's task only judges a run, a run of
// the same settings is enough: its Plan then differs from the one wanted, and the caller still has
// to do the task.
func (e *Experiment) reuse(a *Arm, plan, dir, folder string, experiments []string) (*Run, error) {
	to := filepath.Join(dir, folder)
	if err := checkVacant(to); err != nil {
		return nil, err
	}
	r, err := findFinished(experiments, plan, plan, to)
	if err != nil {
		return nil, err
	}
	if r == nil {
		if a.Task == nil || a.Task.Judge == nil {
			return nil, nil
		}
		settings, _, _ := strings.Cut(plan, taskMark)
		return findFinished(experiments, settings, plan, to)
	}
	r.Arm, r.Folder = a.Name, folder
	return r, nil
}

// findFinished looks in the experiments' folders for a finished run of plan and copies it to dir.
// It returns nil without such a run. The copy gets its name last, so an interrupted copy is made
// again. A copy interrupted before its result was written is resumed, which changes no bit.
func findFinished(experiments []string, plan, wanted, dir string) (*Run, error) {
	for _, e := range experiments {
		if _, err := os.Stat(e); err != nil {
			return nil, fmt.Errorf("no runs to reuse: %w", err)
		}
		plans, err := filepath.Glob(filepath.Join(e, runsDir, "*", planFile))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e, err)
		}
		for _, p := range plans {
			text, err := os.ReadFile(p)
			if err != nil {
				return nil, err
			}
			from := filepath.Dir(p)
			if !samePlan(text, plan) {
				continue
			}
			r, err := readRun(filepath.Join(from, resultFile))
			if errors.Is(err, fs.ErrNotExist) { // not finished
				continue
			} else if err != nil {
				return nil, err
			}
			if err := copyRun(from, dir, wanted); err != nil {
				return nil, fmt.Errorf("copying the run %s: %w", from, err)
			}
			r.From = from
			return r, nil
		}
	}
	return nil, nil
}

// copyRun copies the run folder from to dir, which may exist if it is empty, with the given plan.
// The caller writes the result, so that it names its own experiment.
func copyRun(from, dir, plan string) error {
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.CopyFS(part, os.DirFS(from)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(part, resultFile)); err != nil {
		return err
	}
	if err := writeText(filepath.Join(part, planFile), plan); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(part, dir)
}
