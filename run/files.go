package run

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"

	"github.com/kindred-ml/kindred/embedding"
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
	return t.explain(t.opts.files.Write(path, write))
}

// explain adds the way out of a full disk.
func (t *trainer) explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		again := "start again"
		if Begun(t.opts.Dir) {
			again = "continue with --resume " + t.opts.Dir
		}
		return fmt.Errorf("%w: the disk is full; free some space, then %s", err, again)
	}
	return err
}

// writeEmbeddings writes NAMEembeddings.npy and NAMElabels.csv; the labels file
// has the columns path, label (the fine class), coarse (what was trained with).
func (t *trainer) writeEmbeddings(name string, e *Embedded) error {
	err := t.write(filepath.Join(t.opts.Dir, name+"embeddings.npy"),
		func(w io.Writer) error { return embedding.WriteNPY(w, e.X) })
	if err != nil {
		return err
	}
	return t.write(filepath.Join(t.opts.Dir, name+"labels.csv"), e.WriteLabels)
}
