package calibrations

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

// newCalibration is a calibration of vectors of two numbers by a network.
func newCalibration(t *testing.T, network string) *decide.Calibration {
	t.Helper()
	const classes, each = 30, 4
	x, labels := matrix.New(classes*each, 2), make([]int64, classes*each)
	for i := range labels {
		labels[i] = int64(i / each)
		x.Row(i)[0], x.Row(i)[1] = float32(10*(i/each)), float32(i%each)
	}
	c, err := decide.Calibrate(t.Context(), x, labels, decide.Options{Seed: 1,
		Source: embedding.Network{Fingerprint: network}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFile(t *testing.T) {
	for _, c := range []struct {
		path   string
		folder bool
		want   string
	}{
		{"runs/a", true, "runs/a/calibration.json"}, {"E.parquet", false, "E.calibration.json"},
		{"dir.x/E", false, "dir.x/E.calibration.json"},
	} {
		if got := Path(filepath.FromSlash(c.path), c.folder); got != filepath.FromSlash(c.want) {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
}

// TestAmong: a calibration that is not there says how to make it, one for other distances is told from
// that, and one that fits gives probabilities.
func TestAmong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	of := &Distances{From: "runs/a", Source: embedding.Network{Fingerprint: "n"}, Distance: "euclidean", Dim: 2,
		Gallery: func() (decide.Gallery, error) { return decide.Gallery{Items: 10, Classes: 5}, nil }}
	var missing *MissingError
	if _, err := of.ForGallery(file, 0.5); !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "does not exist: make it with kindred calibrate runs/a") {
		t.Error(err)
	}
	if err := newCalibration(t, "n").Save(file); err != nil {
		t.Fatal(err)
	}
	among, err := of.ForGallery(file, 0.5)
	if err != nil || !(among.MatchProbability(1) > among.MatchProbability(9)) {
		t.Fatal(err)
	}
	full := errors.New("no")
	broken := *of
	broken.Gallery = func() (decide.Gallery, error) { return decide.Gallery{}, full }
	if _, err := broken.ForGallery(file, 0.5); !errors.Is(err, full) {
		t.Error(err)
	}
	for what, change := range map[string]func(*Distances){
		"network":  func(o *Distances) { o.Source.Fingerprint = "other" },
		"distance": func(o *Distances) { o.Distance = "cosine" },
	} {
		other := *of
		change(&other)
		var unfit *UnfitError
		if _, err := other.ForGallery(file, 0.5); !errors.As(err, &unfit) || unfit.File != file {
			t.Errorf("another %s: %v", what, err)
		}
	}
}

// TestCarry: a calibration goes along under its new source; one of another distance is passed over in
// silence, and one of another network is told.
func TestCarry(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.json"), filepath.Join(dir, "to.json")
	of := &Distances{File: from, Source: embedding.Network{Fingerprint: "n"}, Distance: "euclidean", Dim: 2}
	as := embedding.Network{Fingerprint: "copy"}
	nothing := func(of *Distances) error {
		t.Helper()
		c, err := of.CopyTo(to, as)
		if c != nil {
			t.Errorf("%+v is carried", c.Source)
		}
		if _, gone := os.Stat(to); !errors.Is(gone, fs.ErrNotExist) {
			t.Error("a file is written")
		}
		return err
	}
	if err := errors.Join(nothing(of), nothing(&Distances{})); err != nil {
		t.Error(err)
	}
	if err := newCalibration(t, "n").Save(from); err != nil {
		t.Fatal(err)
	}
	other := *of
	other.Distance = "cosine"
	if err := nothing(&other); err != nil {
		t.Error(err)
	}
	other = *of
	other.Source.Fingerprint = "other"
	var unfit *UnfitError
	if err := nothing(&other); !errors.As(err, &unfit) || unfit.File != from {
		t.Error(err)
	}
	c, err := of.CopyTo(to, as)
	if err != nil || c.Source.Fingerprint != "copy" {
		t.Fatal(err)
	}
	if back, err := Load(to, ""); err != nil || back.Source.Fingerprint != "copy" {
		t.Errorf("%+v, %v", back, err)
	}
}

// TestOfNetwork: a network of a folder and one of a file have the calibration there, one by name none.
func TestOfNetwork(t *testing.T) {
	dir := t.TempDir()
	spec := &nn.Spec{Input: nn.Shape{H: 1, W: 1, C: 2}, Layers: []nn.Layer{{Kind: nn.Dense, Name: "fc", Out: 3}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &run.Model{Config: run.Default(), Net: net}
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(dir, nn.WeightsFile)
	for _, c := range []struct{ dir, network, file string }{
		{dir, "", Path(dir, true)}, {"", dir, Path(dir, true)}, {"", weights, Path(weights, false)},
		{"", "resnet50", ""},
	} {
		of, err := FromNetwork(m, c.dir, c.network)
		if err != nil || of.File != c.file || of.Dim != 3 || of.Source.Fingerprint == "" {
			t.Errorf("%+v: %+v, %v", c, of, err)
		}
	}
	if _, err := FromNetwork(m, filepath.Join(dir, "none"), ""); err == nil {
		t.Error("a run that is not there")
	}
}
