// Package record writes the folder of a run: it locks it, and keeps the configuration, a row of numbers for every
// epoch, the checkpoint and embeddings in it.
package record

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/matrix"
)

// Names of files in a run folder.
const (
	ConfigFile       = "config.yaml"
	MetricsFile      = "metrics.csv"
	MetricsJSONFile  = "metrics.jsonl"
	EventsFile       = "events.out.tfevents.kindred"
	TimingFile       = "timing.csv"
	ReportFile       = "report.html"
	CheckpointDir    = "checkpoint"
	CheckpointFile   = "last.safetensors"
	SnapshotDir      = "snapshots" // EPOCH_SET_embeddings.npy and EPOCH_SET_labels.csv
	EmbeddingsSuffix = "embeddings.npy"
	LabelsSuffix     = "labels.csv"
)

// Options that errors name.
const (
	OptDir    option.Option = "run.Options.Dir"
	OptForce  option.Option = "run.Options.Force"
	OptResume option.Option = "run.Options.Resume"
)

// Dir is the folder of a run.
type Dir struct {
	Path  string
	Files atomic.Files // tests put faults into it
}

// Embeddings are embeddings with what writes the labels of their samples as CSV.
type Embeddings struct {
	X           *matrix.Dense
	WriteLabels func(io.Writer) error
}

// Join returns the path of a file in the folder.
func (d Dir) Join(name ...string) string {
	return filepath.Join(append([]string{d.Path}, name...)...)
}

// CheckpointPath returns the path of the checkpoint from which the run goes on.
func (d Dir) CheckpointPath() string { return d.Join(CheckpointDir, CheckpointFile) }

// Write replaces a file of the folder.
func (d Dir) Write(name string, write func(io.Writer) error) error {
	return d.ExplainDiskFull(d.Files.Write(d.Join(name), write))
}

// WriteText replaces a file of the folder by a text.
func (d Dir) WriteText(name, text string) error {
	return d.Write(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// WriteEmbeddings writes NAMEembeddings.npy and NAMElabels.csv, and the network of the embeddings if it is known.
func (d Dir) WriteEmbeddings(name string, e Embeddings, by embedding.Network) error {
	err := d.Write(name+EmbeddingsSuffix, func(w io.Writer) error { return embedding.WriteNPY(w, e.X) })
	if err != nil {
		return err
	}
	if by.Fingerprint != "" {
		text, err := by.FileText(d.Join(name + EmbeddingsSuffix))
		if err != nil {
			return err
		}
		if err := d.WriteText(embedding.NetworkFile(name+EmbeddingsSuffix), string(text)); err != nil {
			return err
		}
	}
	return d.Write(name+LabelsSuffix, e.WriteLabels)
}

// WriteSnapshot writes the embeddings of a set after an epoch.
func (d Dir) WriteSnapshot(epoch int, set string, e Embeddings) error {
	if err := d.Files.MkdirAll(d.Join(SnapshotDir)); err != nil {
		return d.ExplainDiskFull(err)
	}
	return d.WriteEmbeddings(filepath.Join(SnapshotDir, fmt.Sprintf("%04d_%s_", epoch, set)), e, embedding.Network{})
}

// snapshotPattern matches the files that WriteSnapshot writes.
var snapshotPattern = regexp.MustCompile(`^([0-9]{4,})_(test|seen|train|validation)_(embeddings\.npy|labels\.csv)$`)

// ParseSnapshot returns the epoch and the set of the embeddings that WriteSnapshot wrote to a file, whose name is
// without its folder. The set is empty for other files.
func ParseSnapshot(name string) (epoch int, set string, err error) {
	m := snapshotPattern.FindStringSubmatch(name)
	if m == nil || m[3] != EmbeddingsSuffix {
		return 0, "", nil
	}
	epoch, err = strconv.Atoi(m[1])
	return epoch, m[2], err
}

// ExplainDiskFull adds advice to the error of a full disk.
func (d Dir) ExplainDiskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		if Exists(d.Path) {
			return option.Errorf("%w: the disk is full; free some space, then continue with %s", err,
				OptResume.WithValue(d.Path))
		}
		return fmt.Errorf("%w: the disk is full; free some space, then start again", err)
	}
	return err
}
