package nn_test

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
)

// readImages reads MNIST's test images, scaled to 0..1.
func readImages(t *testing.T, dir string) []float32 {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "t10k-images-idx3-ubyte.gz"))
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
	raw = raw[16:] // magic, count, rows, columns
	x := make([]float32, len(raw))
	for i, v := range raw {
		x[i] = float32(v) / 255
	}
	return x
}

func TestGoldenTrainingCurve(t *testing.T) { goldenCurve(t, nn.Float32) }

// In bfloat16 the curve stays within two per cent.
func TestGoldenTrainingCurveInBFloat16(t *testing.T) { goldenCurve(t, nn.BFloat16) }

// goldenCurve repeats ten Adam steps of the MNIST network that were
// computed in float64 elsewhere, from the same weights, images and triplets.
func goldenCurve(t *testing.T, precision nn.Precision) {
	t.Helper()
	bound := 1e-3
	if precision == nn.BFloat16 {
		bound = 2e-2
	}
	dir := refdata.Path(t, "golden", "training_curve")
	images := readImages(t, refdata.Path(t, "data", "mnist"))
	var want struct {
		Losses []float64          `json:"losses_float64"`
		Norms  map[string]float64 `json:"first_step_gradient_norms"`
		Adam   struct{ Lr float64 }
	}
	data, err := os.ReadFile(filepath.Join(dir, "curve.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	spec, err := zoo.Network("mnist", zoo.Options{Input: nn.Shape{H: 28, W: 28, C: 1}, Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Precision: precision})
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Read(filepath.Join(dir, "initial.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := net.SetState(f); err != nil {
		t.Fatal(err)
	}
	opt, err := train.NewOptimizer(train.OptimizerConfig{Rate: want.Adam.Lr}, net.Params())
	if err != nil {
		t.Fatal(err)
	}
	indices := refdata.ReadNPY[int64](t, filepath.Join(dir, "indices.npy"))
	triplets := refdata.ReadNPY[int64](t, filepath.Join(dir, "triplets.npy"))
	const n = 32
	x, grad := make([]float32, n*784), matrix.New(n, 2)
	for step, wantLoss := range want.Losses {
		for i, at := range indices[step*n : (step+1)*n] {
			copy(x[i*784:], images[at*784:(at+1)*784])
		}
		e := net.Forward(x, n)
		loss := tripletLoss(e, triplets[step*n*3:(step+1)*n*3], grad)
		if rel := math.Abs(loss-wantLoss) / wantLoss; rel > bound {
			t.Errorf("step %d: loss %.7f, want %.7f", step, loss, wantLoss)
		}
		net.Backward(grad)
		if step == 0 && precision == nn.Float32 {
			for name, want := range want.Norms {
				got := norm(net.Param(name).Grad)
				// Norms below 1e-12 are zero in exact arithmetic: what is left is rounding.
				if math.Abs(got-want) > 1e-3*want && (want > 1e-12 || got > 1e-5) {
					t.Errorf("gradient norm of %s is %v, want %v", name, got, want)
				}
			}
		}
		opt.Step()
	}
	if precision == nn.BFloat16 {
		return
	}
	after := refdata.ReadNPY[float32](t, filepath.Join(dir, "embeddings_after.npy"))
	got := net.Infer(images[:64*784], 64)
	for i, want := range after {
		if d := math.Abs(float64(got.Data[i] - want)); d > 2e-3 {
			t.Errorf("embedding value %d is %v, want %v", i, got.Data[i], want)
		}
	}
}

// tripletLoss is the mean of (|a-p|^2 - |a-n|^2 + 0.2)_+ and sets its gradient.
func tripletLoss(e *matrix.Dense, triplets []int64, grad *matrix.Dense) float64 {
	clear(grad.Data)
	var sum float64
	m := float64(len(triplets) / 3)
	for i := 0; i < len(triplets); i += 3 {
		a, p, n := int(triplets[i]), int(triplets[i+1]), int(triplets[i+2])
		v := 0.2
		for j := range e.Cols {
			dp, dn := float64(e.At(a, j)-e.At(p, j)), float64(e.At(a, j)-e.At(n, j))
			v += dp*dp - dn*dn
		}
		if v <= 0 {
			continue
		}
		sum += v
		for j := range e.Cols {
			dp, dn := float64(e.At(a, j)-e.At(p, j)), float64(e.At(a, j)-e.At(n, j))
			grad.Row(a)[j] += float32(2 * (dp - dn) / m)
			grad.Row(p)[j] -= float32(2 * dp / m)
			grad.Row(n)[j] += float32(2 * dn / m)
		}
	}
	return sum / m
}

func norm(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}
