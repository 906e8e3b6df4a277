package xla_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/refdata"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/train"
	"github.com/kindred-ml/kindred/xla"
)

// TestGoldenCurve: ten steps of Adam on the MNIST network, of which the losses were
// computed in float64 elsewhere from the same weights, images and triplets. The
// backend in plain Go takes seconds for a step: two are taken unless KINDRED_LONG is
// set.
func TestGoldenCurve(t *testing.T) {
	dir := refdata.Path(t, "golden", "training_curve")
	images := mnist(t, refdata.Path(t, "data", "mnist", "t10k-images-idx3-ubyte.gz"))
	var want struct {
		Losses []float64 `json:"losses_float64"`
		Adam   struct{ Lr float64 }
	}
	text, err := os.ReadFile(filepath.Join(dir, "curve.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	spec, err := zoo.Network("mnist", zoo.Options{Input: nn.Shape{H: 28, W: 28, C: 1}, Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start, err := safetensors.Read(filepath.Join(dir, "initial.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := net.SetState(start); err != nil {
		t.Fatal(err)
	}
	dev, err := xla.New(open(t, 1), net, xla.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opt, err := train.NewDeviceOptimizer(train.OptimizerConfig{Rate: want.Adam.Lr}, net.Params(), dev)
	if err != nil {
		t.Fatal(err)
	}
	indices := refdata.ReadNPY[int64](t, filepath.Join(dir, "indices.npy"))
	triplets := refdata.ReadNPY[int64](t, filepath.Join(dir, "triplets.npy"))
	const n = 32
	x := make([]float32, n*784)
	steps := len(want.Losses)
	if os.Getenv("KINDRED_LONG") == "" && os.Getenv(engineVariable) == "" {
		steps = 2
	}
	for step, want := range want.Losses[:steps] {
		for i, at := range indices[step*n : (step+1)*n] {
			copy(x[i*784:], images[at*784:(at+1)*784])
		}
		value, slope := hinge(dev.Forward(x, n), triplets[step*n*3:(step+1)*n*3])
		if rel := math.Abs(value-want) / want; !(rel <= 1e-3) {
			t.Errorf("step %d: a loss of %.7f, want %.7f", step, value, want)
		}
		dev.Backward(slope)
		opt.Step()
	}
	if steps < len(want.Losses) {
		return
	}
	after := refdata.ReadNPY[float32](t, filepath.Join(dir, "embeddings_after.npy"))
	bound := 2e-3
	if os.Getenv(engineVariable) != "" { // Adam's first steps have the gradients' signs, whatever their sizes
		bound = 5e-3
	}
	within(t, bound, "embeddings after training", after, dev.Infer(images[:64*784], 64).Data)
}

// hinge is the mean of (|a-p|^2 - |a-n|^2 + 0.2)+ over triplets, with its gradient.
func hinge(e *matrix.Dense, triplets []int64) (value float64, slope *matrix.Dense) {
	slope = matrix.New(e.Rows, e.Cols)
	m := float64(len(triplets) / 3)
	for i := 0; i < len(triplets); i += 3 {
		a, p, n := int(triplets[i]), int(triplets[i+1]), int(triplets[i+2])
		sum := 0.2
		for j := range e.Cols {
			to, from := float64(e.At(a, j)-e.At(p, j)), float64(e.At(a, j)-e.At(n, j))
			sum += to*to - from*from
		}
		if sum <= 0 {
			continue
		}
		value += sum / m
		for j := range e.Cols {
			slope.Row(a)[j] += float32(2 * float64(e.At(n, j)-e.At(p, j)) / m)
			slope.Row(p)[j] += float32(2 * float64(e.At(p, j)-e.At(a, j)) / m)
			slope.Row(n)[j] += float32(2 * float64(e.At(a, j)-e.At(n, j)) / m)
		}
	}
	return value, slope
}

// mnist reads images, scaled to 0..1.
func mnist(t *testing.T, path string) []float32 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(raw)-16) // after magic, count, rows, columns
	for i, v := range raw[16:] {
		x[i] = float32(v) / 255
	}
	return x
}
