package run

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/nn"
)

// trainQuantizable trains a small run and returns its model and the data.
func trainQuantizable(t *testing.T) (*Model, *data.Dataset) {
	t.Helper()
	d := newBlobs(4, 24, 16)
	cfg := smallConfig(t)
	cfg.Train.Epochs = 1
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: d}); err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m, d
}

func TestQuantizeSavesWhatItMeasures(t *testing.T) {
	m, d := trainQuantizable(t)
	var stages []string
	q, err := m.Quantize(t.Context(), QuantizeOptions{Dataset: d, Photos: 20, Seed: 2,
		Progress: func(stage string, done, total int) { stages = append(stages, stage) }})
	if err != nil {
		t.Fatal(err)
	}
	if q.Photos != 20 || q.Tested != 48 || q.Before.Precision != "float32" || q.After.Precision != "int8" {
		t.Errorf("%+v", q)
	}
	if !(q.Before.Recall1 > 0.5) || math.Abs(q.Before.Recall1-q.After.Recall1) > 0.1 ||
		math.Abs(q.Before.MAPAtR-q.After.MAPAtR) > 0.1 || !(q.After.Seconds > 0) {
		t.Errorf("before %+v, after %+v", q.Before, q.After)
	}
	if !slices.Contains(stages, "calibrating") || !slices.Contains(stages, "embedding in 8 bits") {
		t.Errorf("told of %q", stages)
	}
	dir := t.TempDir()
	if err := q.Save(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range QuantizedFiles() {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := f.Model()
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Config.Network.Precision != "int8" || loaded.Net.Quantization() == nil {
		t.Fatalf("the loaded model computes in %q", loaded.Config.Network.Precision)
	}
	kept, err := f.Embeddings(TestSet)
	if err != nil {
		t.Fatal(err)
	}
	e, err := loaded.EmbedPart(t.Context(), q.Test.Part)
	if err != nil {
		t.Fatal(err)
	}
	if by := identity(t, loaded); !by.IsSame(kept.Network) || !by.Differs(identity(t, m)) {
		t.Errorf("in 8 bits %+v, embeddings of %+v", by, kept.Network)
	}
	if !slices.Equal(e.X.Data, kept.X.Data) || !slices.Equal(e.X.Data, q.Test.X.Data) {
		t.Error("the loaded model embeds the test samples otherwise")
	}
	copied := t.TempDir()
	if err := loaded.Save(copied); err != nil {
		t.Fatal(err)
	}
	if again, err := Load(copied); err != nil || !identity(t, again).IsSame(kept.Network) {
		t.Errorf("saved and loaded: %v", err)
	}
	if again, _, err := Import(dir, "", DataConfig{Pixels: loaded.Config.Data.Pixels}); err != nil ||
		again.Net.Quantization() == nil {
		t.Errorf("as a network from elsewhere: %v", err)
	}
	if _, err := loaded.Quantize(t.Context(), QuantizeOptions{Dataset: d}); err == nil {
		t.Error("a network of 8 bits is quantized again")
	}
}

// The seed alone decides which photos are looked at, and what comes of them.
func TestQuantizeSameOnAnyNumberOfCores(t *testing.T) {
	m, d := trainQuantizable(t)
	ranges := func(procs int, seed uint64) []nn.Range {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		q, err := m.Quantize(t.Context(), QuantizeOptions{Dataset: d, Photos: 10, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return q.Model.Net.Quantization().Ranges
	}
	first := ranges(1, 1)
	if !slices.Equal(first, ranges(4, 1)) {
		t.Error("four cores find other ranges than one")
	}
	if slices.Equal(first, ranges(4, 2)) {
		t.Error("another seed finds the same ranges")
	}
}

func TestQuantizeRefuses(t *testing.T) {
	m, d := trainQuantizable(t)
	if _, err := m.Quantize(t.Context(), QuantizeOptions{Dataset: d, Photos: -1}); err == nil {
		t.Error("-1 photos pass")
	}
	_, err := m.Quantize(t.Context(), QuantizeOptions{Dataset: d, Choice: nn.RangeChoice{Float: []string{"nothing"}}})
	if err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("an unknown layer: %v", err)
	}
	if _, err := m.Quantize(t.Context(), QuantizeOptions{}); err == nil {
		t.Error("no data pass")
	}
	cfg := smallConfig(t)
	cfg.Network.Precision = "int8"
	_, err = Train(t.Context(), cfg, Options{Dir: filepath.Join(t.TempDir(), "run"), Dataset: d})
	if err == nil || !strings.Contains(err.Error(), "network.precision") {
		t.Errorf("training in 8 bits: %v", err)
	}
	dir := t.TempDir()
	m.Config.Network.Precision = "int8"
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "quantization.json") {
		t.Errorf("a model without its ranges: %v", err)
	}
}
