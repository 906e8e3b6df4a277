package train

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kindred-ml/kindred/embio"
	"github.com/kindred-ml/kindred/internal/atomic"
)

// Files of a run folder.
const (
	ConfigFile  = "config.yaml"
	MetricsFile = "metrics.csv"
	TimingFile  = "timing.csv"
	// SnapshotDir holds EPOCH_SET_embeddings.npy and EPOCH_SET_labels.csv of
	// every evaluation, with eval.keep.
	SnapshotDir = "snapshots"
)

// write replaces a file of the run folder.
func (t *trainer) write(path string, write func(io.Writer) error) error {
	return t.explain(atomic.WriteFile(path, write))
}

// explain adds the way out of a full disk.
func (t *trainer) explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		again := "start again"
		if _, e := os.Stat(CheckpointPath(t.opts.Dir)); e == nil {
			again = "continue with --resume " + t.opts.Dir
		}
		return fmt.Errorf("%w: the disk is full; free some space, then %s", err, again)
	}
	return err
}

// prepareDir makes the run folder. A new run does not overwrite one that is
// there.
func prepareDir(dir string, resume bool) error {
	if dir == "" {
		return nil
	}
	if !resume {
		if _, err := os.Stat(CheckpointPath(dir)); err == nil {
			return fmt.Errorf("%s holds a run already: continue it with --resume %s, or choose another folder with --out", dir, dir)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, checkpointDir), 0o777); err != nil {
		return err
	}
	return sweep(dir, filepath.Join(dir, checkpointDir))
}

// sweep removes temporary files that a killed process left.
func sweep(dirs ...string) error {
	for _, d := range dirs {
		left, err := filepath.Glob(filepath.Join(d, ".*.tmp-*"))
		if err != nil {
			return err
		}
		for _, f := range left {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeEmbeddings writes NAMEembeddings.npy and NAMElabels.csv; the labels file
// has the columns path, label (the fine class), coarse (what was trained with).
func (t *trainer) writeEmbeddings(name string, e *Embedded) error {
	err := t.write(filepath.Join(t.opts.Dir, name+"embeddings.npy"), func(w io.Writer) error { return embio.WriteNPY(w, e.X) })
	if err != nil {
		return err
	}
	return t.write(filepath.Join(t.opts.Dir, name+"labels.csv"), e.WriteLabels)
}
