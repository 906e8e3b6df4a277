package xla_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// TestDevices: on one, two and three devices a batch that does not divide, and one of
// fewer images than devices, comes to the embeddings, the gradients and the weights of
// package nn, where batch norm has no statistics of its own.
func TestDevices(t *testing.T) {
	for _, name := range []string{"dropout", "transformer", "residual downsample"} {
		spec := netcases.Layers()[name]
		if spec == nil {
			t.Fatalf("no case is called %s", name)
		}
		for devices := range 3 {
			t.Run(fmt.Sprintf("%s on %d", name, devices+1), func(t *testing.T) {
				opt := nn.Options{Seed: 5, FrozenNorm: true}
				cpu, host, dev := twinsOn(t, open(t, devices+1), spec, opt)
				for _, n := range []int{7, 2} {
					x, dE := drawn(name, n*spec.Input.Len()),
						matrix.FromSlice(n, cpu.Dim(), drawn("slope", n*cpu.Dim()))
					near(t, "embeddings in evaluation", cpu.Infer(x, n).Data, dev.Infer(x, n).Data)
					near(t, "embeddings in training", cpu.Forward(x, n).Data, dev.Forward(x, n).Data)
					cpu.Backward(dE)
					dev.Backward(dE)
					if err := dev.PullGradients(); err != nil {
						t.Fatal(err)
					}
					for i, p := range cpu.Params() {
						near(t, "the gradient of "+p.Name, p.Grad, host.Params()[i].Grad)
					}
				}
			})
		}
	}
}

// TestDevicesTrain: with batch norm fixed, a run on three devices is that on one.
func TestDevicesTrain(t *testing.T) {
	p := newProblem()
	p.optim = train.OptimizerConfig{Method: train.AdamW, WeightDecay: 0.1, ClipNorm: 0.5}
	opt := nn.Options{Seed: 1, FrozenNorm: true}
	cpu, _, _ := twins(t, p.spec, opt)
	_, host, dev := twinsOn(t, open(t, 3), p.spec, opt)
	want, got := p.run(t, cpu, nil, 4, nil, nil), p.run(t, dev, dev, 4, nil, nil)
	for i := range want.History {
		a, b := want.History[i].Totals, got.History[i].Totals
		if math.Abs(a.Loss-b.Loss) > 2e-3*float64(a.Steps) {
			t.Fatalf("epoch %d: a loss of %v, on the CPU %v", i+1, b.Loss, a.Loss)
		}
	}
	if err := dev.Pull(); err != nil {
		t.Fatal(err)
	}
	for i, q := range cpu.Params() {
		within(t, 2e-3, q.Name, q.Value, host.Params()[i].Value)
	}
}

// TestDevicesNormPieces: batch norm of several devices takes the statistics of each
// one's piece, as package nn does of a piece alone, and the running ones move by the
// pieces' mean, weighted by their images.
func TestDevicesNormPieces(t *testing.T) {
	spec := netcases.Layers()["residual downsample"]
	const n = 7
	cpu, host, dev := twinsOn(t, open(t, 2), spec, nn.Options{Seed: 5})
	size := spec.Input.Len()
	x := drawn("pieces", n*size)
	got := dev.Forward(x, n)
	if err := dev.Pull(); err != nil {
		t.Fatal(err)
	}
	running := map[string][]float64{}
	for _, piece := range [][2]int{{0, 3}, {3, 7}} {
		alone, err := nn.New(spec, nn.Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		count := piece[1] - piece[0]
		e := alone.Forward(x[piece[0]*size:piece[1]*size], count)
		near(t, "embeddings of a piece", e.Data, got.Data[piece[0]*got.Cols:piece[1]*got.Cols])
		for _, p := range alone.Params() {
			if p.Buffer {
				if running[p.Name] == nil {
					running[p.Name] = make([]float64, len(p.Value))
				}
				for j, v := range p.Value {
					running[p.Name][j] += float64(v) * float64(count) / n
				}
			}
		}
	}
	for i, p := range cpu.Params() {
		if want := running[p.Name]; want != nil {
			var w []float32
			for _, v := range want {
				w = append(w, float32(v))
			}
			near(t, p.Name, w, host.Params()[i].Value)
		}
	}
	if len(running) == 0 {
		t.Error("no running statistics")
	}
}
